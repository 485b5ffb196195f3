package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// ReferenceMarkdown lists every field of every message with its kind, bounds and meaning, from the JSON Schemas.
func ReferenceMarkdown() string {
	var b strings.Builder
	for _, s := range []struct {
		file string
		text []byte
	}{{"request", requestSchema}, {"pipeline", pipelineSchema}, {"result", resultSchema}, {"event", eventSchema}, {"service", serviceSchema}} {
		root := orderedJSON(s.text)
		fmt.Fprintf(&b, "## %s\n\nThe schema is [`schemas/%s.schema.json`](../schemas/%s.schema.json). %s\n\n", title(s.file), s.file, s.file, root.text("description"))
		fieldTable(&b, root)
		for _, def := range root.get("$defs").pairs {
			fmt.Fprintf(&b, "### %s: %s\n\n", s.file, def.name)
			if d := def.value.text("description"); d != "" {
				fmt.Fprintf(&b, "%s\n\n", d)
			}
			fieldTable(&b, def.value)
		}
	}
	return b.String()
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func fieldTable(b *strings.Builder, schema object) {
	fields := schema.get("properties")
	if len(fields.pairs) == 0 {
		return
	}
	required := schema.words("required")
	fmt.Fprint(b, "| field | kind | meaning |\n|---|---|---|\n")
	for _, f := range fields.pairs {
		kind := f.value.kind()
		if strings.Contains(" "+required+" ", " "+f.name+" ") {
			kind += ", always there"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.name, kind, strings.ReplaceAll(f.value.text("description"), "|", "\\|"))
	}
	b.WriteString("\n")
}

// object is a JSON object with its members in order; raw is the text of any other value.
type object struct {
	pairs []pair
	raw   json.RawMessage
}

type pair struct {
	name  string
	value object
}

// orderedJSON reads one of the documents above, which are known to be JSON.
func orderedJSON(text []byte) object {
	text = bytes.TrimSpace(text)
	o := object{raw: text}
	if len(text) == 0 || text[0] != '{' {
		return o
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for _, _ = d.Token(); d.More(); {
		name, _ := d.Token()
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return o
		}
		o.pairs = append(o.pairs, pair{fmt.Sprint(name), orderedJSON(v)})
	}
	return o
}

func (o object) get(name string) object {
	for _, p := range o.pairs {
		if p.name == name {
			return p.value
		}
	}
	return object{}
}

func (o object) text(name string) string {
	var s string
	_ = json.Unmarshal(o.get(name).raw, &s) // "" where it is none
	return s
}

// words are the words of a list of strings, or of one, without null.
func (o object) words(name string) string {
	var many []string
	raw := o.get(name).raw
	if json.Unmarshal(raw, &many) != nil {
		return o.text(name)
	}
	var out []string
	for _, w := range many {
		if w != "null" {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

// kind says in a few words what a value may be.
func (o object) kind() string {
	var out []string
	for _, branch := range []string{"anyOf", "oneOf"} {
		var many []json.RawMessage
		if json.Unmarshal(o.get(branch).raw, &many) != nil {
			continue
		}
		var kinds []string
		for _, m := range many {
			if k := orderedJSON(m).kind(); k != "null" && k != "" {
				kinds = append(kinds, k)
			}
		}
		out = append(out, strings.Join(kinds, " or "))
	}
	if ref := o.text("$ref"); ref != "" {
		out = append(out, strings.TrimPrefix(ref[strings.LastIndexByte(ref, '/')+1:], "#"))
	}
	if t := strings.ReplaceAll(o.words("type"), " ", " or "); t == "array" {
		out = append(out, strings.TrimSpace("array of "+o.get("items").kind()))
	} else if t != "" {
		out = append(out, t)
	}
	if e := o.words("enum"); e != "" {
		out = append(out, "one of "+strings.ReplaceAll(e, " ", ", "))
	}
	for _, bound := range [][2]string{{"const", "always"}, {"format", ""}, {"minimum", "at least"}, {"exclusiveMinimum", "more than"}, {"maximum", "at most"}, {"minLength", "at least (characters)"},
		{"maxLength", "at most (characters)"}, {"maxItems", "at most (items)"}, {"maxProperties", "at most (members)"}} {
		if raw := o.get(bound[0]).raw; len(raw) > 0 {
			out = append(out, strings.TrimSpace(bound[1]+" "+strings.Trim(string(raw), `"`)))
		}
	}
	return strings.Join(out, ", ")
}
