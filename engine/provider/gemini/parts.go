package gemini

import (
	"fmt"
	"strings"

	"emend/engine/provider"
)

// found is what the parts of an answer hold.
type found struct {
	texts, others int
	thoughts      bool
	first         string
	all           strings.Builder
	bad           string // a part that is out of form
	other         string // the first other part's field
}

// instead are the fields of parts that are no text. They are named, never adopted.
var instead = []string{"functionCall", "inlineData", "fileData", "executableCode", "codeExecutionResult", "functionResponse"}

func gather(parts provider.Value) *found {
	f := &found{}
	i := 0
	for part := range parts.Elements() {
		f.part(i, part)
		i++
	}
	return f
}

func (f *found) part(i int, part provider.Value) {
	var text, thought provider.Value
	part.Pick(provider.Field{Name: "text", To: &text}, provider.Field{Name: "thought", To: &thought})
	switch {
	case thought.Filled():
		f.thoughts = true
	case text.Kind() == provider.String:
		f.text(text)
	case text.Kind() == provider.Absent:
		f.others++
		f.name(part)
	case f.bad == "":
		f.bad = fmt.Sprintf("candidates[0].content.parts[%d].text is %s", i, text.Kind())
	}
}

// text keeps a lone text as it is: most answers have one part.
func (f *found) text(v provider.Value) {
	s, _ := v.Text()
	if f.texts++; f.texts == 1 {
		f.first = s
		return
	}
	if f.texts == 2 {
		f.all.WriteString(f.first)
	}
	f.all.WriteString(s)
}

func (f *found) name(part provider.Value) {
	for _, field := range instead {
		if f.other == "" && part.Get(field).Filled() {
			f.other = field
		}
	}
}

// nothing says why there is no candidate.
func (f *found) nothing() string {
	why := "candidates[0].content.parts holds no text"
	switch {
	case f.other != "":
		why += "; " + f.other + " is populated instead"
	case f.thoughts:
		why += "; thoughts are populated instead"
	}
	return why
}
