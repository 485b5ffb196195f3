package anthropic

import (
	"errors"
	"fmt"

	"emend/engine/provider"
	"emend/schemas"
)

// maxMarks is how many cache_control marks the API takes in one request.
const maxMarks = 4

// conversation is the messages in the order of the wire: first those of system, then the turns.
type conversation struct {
	system, turns []entry
}

// entry is a message with its cache lifetime on the wire ("" for none) and its place in the request, for errors.
type entry struct {
	schemas.Message
	ttl string
	at  int
}

func sorted(messages []schemas.Message, cached bool) conversation {
	c := conversation{turns: make([]entry, 0, len(messages))}
	for i, m := range messages {
		e := entry{Message: m, at: i}
		switch {
		case blank(m):
			continue
		case cached && m.Cache != "" && m.Parts == nil:
			e.ttl = provider.CacheTTL(m.Cache)
		}
		if m.Role == schemas.RoleSystem || m.Role == schemas.RoleDeveloper {
			c.system = append(c.system, e)
		} else {
			c.turns = append(c.turns, e)
		}
	}
	c.limitMarks()
	return c
}

// limitMarks keeps the last marks, which cover the longest prefixes, and makes none shorter than one behind it: the API
// takes the longer lifetimes only before the shorter ones.
func (c conversation) limitMarks() {
	left, ttl := maxMarks, ""
	for _, entries := range [][]entry{c.turns, c.system} {
		for i := len(entries) - 1; i >= 0; i-- {
			e := &entries[i]
			switch {
			case e.ttl == "":
			case left == 0:
				e.ttl = ""
			default:
				left--
				if ttl == provider.CacheHour {
					e.ttl = ttl
				}
				ttl = e.ttl
			}
		}
	}
}

func writeMessages(e *provider.Encoder, ep *provider.Endpoint, messages []schemas.Message) error {
	c := sorted(messages, ep.Word(optCache) == "cache_control")
	if len(c.turns) == 0 {
		return errors.New("messages has no user message that says anything, and the API demands one beside the system messages")
	}
	if len(c.system) > 0 {
		e.Key("system")
		if err := writeContent(e, c.system); err != nil {
			return err
		}
	}
	e.Key("messages")
	e.Open('[')
	for from := 0; from < len(c.turns); {
		to := from + 1
		for to < len(c.turns) && c.turns[to].Role == c.turns[from].Role {
			to++
		}
		e.Open('{')
		e.Key("role")
		e.String(c.turns[from].Role)
		e.Key("content")
		if err := writeContent(e, c.turns[from:to]); err != nil {
			return err
		}
		e.Close('}')
		from = to
	}
	e.Close(']')
	return nil
}

// writeContent writes one text as it is, several or marked ones as blocks.
func writeContent(e *provider.Encoder, entries []entry) error {
	if len(entries) == 1 && entries[0].Parts == nil && entries[0].ttl == "" {
		e.String(entries[0].Content)
		return nil
	}
	e.Open('[')
	for _, m := range entries {
		if m.Parts == nil {
			writeText(e, m.Content, m.ttl)
			continue
		}
		if err := writeParts(e, m); err != nil {
			return err
		}
	}
	e.Close(']')
	return nil
}

func writeText(e *provider.Encoder, text, ttl string) {
	e.Open('{')
	e.Key("type")
	e.String("text")
	e.Key("text")
	e.String(text)
	e.CacheControl(ttl)
	e.Close('}')
}

// writeParts puts images and files into the API's form and lets blocks in the API's own form through as they are.
func writeParts(e *provider.Encoder, m entry) error {
	content, _ := provider.Parse(m.Parts)
	n := 0
	for block := range content.Elements() {
		kind, _ := block.Get("type").Text()
		if kind != "image_url" && kind != "file" {
			e.Raw(block.Raw())
		} else if err := writeMedia(e, block); err != nil {
			return fmt.Errorf("messages[%d].content[%d]%w", m.at, n, err)
		}
		n++
	}
	return nil
}

func writeMedia(e *provider.Encoder, block provider.Value) error {
	part, err := provider.OnePart(block)
	if err != nil {
		return err
	}
	kind, known := mediaBlock(part)
	if !known {
		return errors.New(" is neither an image nor a PDF file, and the API takes no other media")
	}
	e.Open('{')
	e.Key("type")
	e.String(kind)
	e.Key("source")
	e.Open('{')
	e.Key("type")
	if part.URL != "" {
		e.String("url")
		e.Key("url")
		e.String(part.URL)
	} else {
		e.String("base64")
		e.Key("media_type")
		e.String(part.MediaType)
		e.Key("data")
		e.String(part.Data)
	}
	e.Close('}')
	e.Close('}')
	return nil
}

func mediaBlock(p provider.Part) (kind string, known bool) {
	switch p.MediaType {
	case "application/pdf":
		return "document", true
	case "", "image/jpeg", "image/png", "image/gif", "image/webp":
		return "image", true
	}
	return "", false
}
