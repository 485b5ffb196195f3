package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// again is a command line for another command, to be pasted: with the flags of the running one that both have, so that it means
// the same space, queue and runs; args may give others. A URL loses its user and password.
func (a *app) again(name string, args ...string) string {
	words := append(strings.Fields("emend "+name), args...)
	if a.cmd == nil {
		return strings.Join(words, " ")
	}
	to, _, err := a.cmd.Root().Find(strings.Fields(name))
	if err != nil {
		return strings.Join(words, " ")
	}
	a.cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "json" || to.LocalNonPersistentFlags().Lookup(f.Name) == nil || slices.Contains(args, "--"+f.Name) {
			return
		}
		value := f.Value.String()
		if f.Name == "nats" {
			value = safeURL(value)
		}
		words = append(words, flagWord(f), value)
	})
	for i := range words {
		words[i] = quoted(words[i])
	}
	return strings.Join(words, " ")
}

func flagWord(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted makes one word of a text for a shell.
func quoted(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// running notes which command runs.
func (a *app) running(c *cobra.Command, _ []string) { a.cmd = c }
