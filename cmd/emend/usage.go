package main

import (
	"fmt"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// needs has a command take at least so many arguments, and say which one is missing.
func needs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return fmt.Errorf("give %s: %s", what, c.UseLine())
		}
		return nil
	}
}

// exactly has a command take one argument.
func exactly(what string) cobra.PositionalArgs {
	return cobra.MatchAll(needs(1, what), atMost(1))
}

// atMost has a command take no more arguments than it has a use for, and name the first that is too many.
func atMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("%q is an argument too many: %s", short(args[n]), c.UseLine())
		}
		return nil
	}
}

// unknownFlag is how pflag tells of one.
var unknownFlag = regexp.MustCompile(`^unknown flag: --(\S+)$`)

// flagError proposes the flag that was meant, or says where all are.
func flagError(c *cobra.Command, err error) error {
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	hint := nearest("--"+m[1], names)
	if hint == "" {
		hint = "; see " + c.CommandPath() + " --help"
	}
	return fmt.Errorf("%w%s", err, hint)
}
