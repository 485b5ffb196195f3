package prompts

import (
	"fmt"
	"strings"

	"emend/engine/provider/dialects"
)

// ReferenceMarkdown is the reference of every field of the files, for the docs: generated from the tables that read them.
func ReferenceMarkdown() string {
	var b strings.Builder
	b.WriteString("# Fields of the files\n\nDurations are written `90s`, `1h30m` or `7d`, sizes `64KiB`. A null equals an absent field. " +
		"Anchors, aliases and tags are refused.\n")
	d := &describer{b: &b, seen: map[*object]bool{}}
	d.object("`emend.yaml`", configObject)
	d.object("`prompts/<id>@<version>.yaml`", promptObject)
	d.object("`pipelines/<name>@<version>.yaml`", pipelineObject)
	b.WriteString("\n## Dialects and their options\n\n| dialect | option | values | meaning |\n|---|---|---|---|\n")
	for _, name := range dialects.Names() {
		entry, err := dialects.Lookup(name)
		if err != nil {
			continue // a listed dialect is always found
		}
		fmt.Fprintf(&b, "| `%s` | | | %s |\n", name, cell(entry.Doc))
		for _, o := range entry.Options() {
			fmt.Fprintf(&b, "| | `%s` | %s | %s |\n", o.Name, cell(strings.Join(o.Words, ", ")), cell(o.Doc))
		}
	}
	b.WriteString("\n## Templates\n\n" + templateDoc)
	return b.String()
}

const templateDoc = "A message is a template over the inputs: `{{ .name }}`, `{{ .order.total }}`, `{{ if }}`, `{{ else }}`, `{{ range }}`, `{{ end }}`, " +
	"literals, and the functions `and`, `or`, `not`, `eq`, `ne`, `len`. Inside a range the dot is the element and `$.name` an input. " +
	"A text renders as it is, any other value as compact JSON with its numbers as they were written. " +
	"A member that an input does not have is an error. The text of an input is never a template.\n"

type describer struct {
	b    *strings.Builder
	seen map[*object]bool
}

// object writes the table of an object, then those of the objects in it.
func (d *describer) object(title string, o *object) {
	if d.seen[o] {
		return
	}
	d.seen[o] = true
	fmt.Fprintf(d.b, "\n## %s\n\n%s\n\n| field | kind | default | meaning |\n|---|---|---|---|\n", title, o.doc)
	for _, f := range o.fields {
		def := ""
		switch {
		case f.required:
			def = "required"
		case f.def != "":
			def = "`" + f.def + "`"
		}
		fmt.Fprintf(d.b, "| `%s` | %s | %s | %s |\n", f.name, cell(f.kind.words()), cell(def), cell(f.doc))
	}
	for _, f := range o.fields {
		if below := objectIn(f.kind); below != nil {
			d.object(below.name, below)
		}
	}
}

// objectIn is the object that a kind holds, if any.
func objectIn(k kind) *object {
	switch k := k.(type) {
	case *object:
		return k
	case dict:
		return objectIn(k.of)
	case list:
		return objectIn(k.of)
	case textOr:
		return objectIn(k.other)
	case clauseKind:
		return boundsObject
	case lanesKind:
		return laneObject
	case outputsKind:
		return outputFieldObject
	}
	return nil
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
