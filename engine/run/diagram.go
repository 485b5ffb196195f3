package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Diagram returns the machine as a Mermaid state diagram, made from the table that Step runs on.
func Diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> new\n")
	for _, from := range Phases {
		for _, name := range slices.Sorted(maps.Keys(table[from])) {
			for _, to := range table[from][name].to {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, name)
			}
		}
	}
	b.WriteString("    done --> [*]\n")
	return b.String()
}
