package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Part is one part of a message's content, for a dialect that has a form of its own: text, inline data or a URL.
type Part struct {
	Text string
	// MediaType and Data are those of a data URL; Data stays base64.
	MediaType, Data string
	// URL is an image's address that the provider is to fetch.
	URL string
}

// Parts reads a content array in the form that prompts write, which is OpenAI's: text, image_url with a data URL or an
// address, and file with file_data. Any other type is an error: what a provider cannot be told must not be left out in
// silence.
func Parts(raw json.RawMessage) ([]Part, error) {
	content, ok := Parse(raw)
	if !ok || content.Kind() != Array {
		return nil, errors.New("is not an array of parts in well-formed JSON")
	}
	var out []Part
	for part := range content.Elements() {
		p, err := OnePart(part)
		if err != nil {
			return nil, fmt.Errorf("[%d]%w", len(out), err)
		}
		out = append(out, p)
	}
	return out, nil
}

// OnePart reads one element of a content array; see Parts.
func OnePart(part Value) (Part, error) {
	kind, _ := part.Get("type").Text()
	switch kind {
	case "text":
		text, ok := part.Get("text").Text()
		if !ok {
			return Part{}, fmt.Errorf(".text is %s, not a string", part.Get("text").Kind())
		}
		return Part{Text: text}, nil
	case "image_url":
		url, _ := part.Get("image_url").Get("url").Text()
		if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
			return Part{URL: url}, nil
		}
		return inline(".image_url.url", url)
	case "file":
		url, _ := part.Get("file").Get("file_data").Text()
		return inline(".file.file_data", url)
	}
	return Part{}, errors.New(".type is not text, image_url or file")
}

// inline takes a data URL apart. Only base64 is taken: it is the form of every provider.
func inline(field, url string) (Part, error) {
	rest, isData := strings.CutPrefix(url, "data:")
	head, data, hasData := strings.Cut(rest, ",")
	head, isBase64 := strings.CutSuffix(head, ";base64")
	media, _, _ := strings.Cut(head, ";")
	if !isData || !hasData || !isBase64 || media == "" {
		return Part{}, fmt.Errorf("%s is not a URL of the form data:MEDIA/TYPE;base64,DATA", field)
	}
	return Part{MediaType: media, Data: data}, nil
}
