package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// man writes manual pages, for those who package the program. Completions are cobra's: `emend completion`.
func (a *app) man() *cobra.Command {
	return &cobra.Command{Use: "man FOLDER", Short: "Write manual pages to a folder", Hidden: true, Args: exactly("the folder to write to"), RunE: func(c *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return failed(err)
		}
		root := c.Root()
		root.DisableAutoGenTag = true
		return failed(doc.GenManTree(root, &doc.GenManHeader{Title: "EMEND", Section: "1", Source: "emend " + version, Manual: "Emend"}, args[0]))
	}}
}

// commandsMarkdown is the reference of the command line, from the commands themselves.
func commandsMarkdown(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "These flags go with every command:\n\n")
	flagTable(&b, root.PersistentFlags())
	for _, c := range everyCommand(root) {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", c.CommandPath(), sentence(c.Short))
		if c.Long != "" {
			fmt.Fprintf(&b, "%s\n\n", c.Long)
		}
		if c.Runnable() && !c.HasSubCommands() {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", c.UseLine())
			flagTable(&b, c.NonInheritedFlags())
		}
	}
	return b.String()
}

// everyCommand lists all commands that people see, each before its own.
func everyCommand(c *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			out = append(append(out, sub), everyCommand(sub)...)
		}
	}
	return out
}

func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func flagTable(b *strings.Builder, flags *pflag.FlagSet) {
	any := false
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !any {
			b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
			any = true
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		def := f.DefValue
		if def == "[]" || def == "false" || def == "" {
			def = ""
		} else {
			def = "`" + def + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, def, strings.ReplaceAll(usage, "|", "\\|"))
	})
	if any {
		b.WriteString("\n")
	}
}
