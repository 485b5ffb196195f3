package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"emend/internal/prices"
	"emend/schemas"
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// tty says that out is a terminal: colours and live progress are for terminals only.
	tty bool
	// typed says that in is a terminal, where somebody must type.
	typed bool
}

func stdio() streams {
	return streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, typed: term.IsTerminal(int(os.Stdin.Fd())), tty: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == ""}
}

// app is what all commands share.
type app struct {
	streams
	json bool
	// cmd is the command that runs.
	cmd *cobra.Command
}

func newRoot(s streams) *cobra.Command {
	a := &app{streams: s}
	root := &cobra.Command{Use: "emend", Short: "Execute LLM runs over NATS JetStream", SilenceErrors: true, SilenceUsage: true,
		Long: "Emend executes LLM runs that arrive as NATS JetStream messages: it calls the model, retries what is transient,\n" +
			"judges the answer against its contract, has the model mend it, stores one result per run, and only then acks."}
	root.PersistentPreRun = a.running
	root.SetFlagErrorFunc(flagError)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON for machines")
	root.AddCommand(a.demo(), a.initCmd(), a.try(), a.dev(), a.serve(), a.runCmd(), a.batchCmd(), a.get(), a.cancel(), a.watch(), a.status(), a.dashboard(), a.explain(), a.bill(), a.reloadCmd(), a.review(), a.dead(), a.check(), a.apply(), a.catalogCmd(),
		a.promptsCmd(), a.doctor(), a.torture(), a.streamsCmd(), a.validate(), a.mock(), a.man(), a.versionCmd(), exitCodes())
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			group(c)
		}
	}
	return root
}

// group makes a command of subcommands refuse what is none of them, as the root does: cobra would show the help and exit 0.
func group(c *cobra.Command) {
	c.DisableFlagsInUseLine, c.Args = true, cobra.ArbitraryArgs
	c.SuggestionsMinimumDistance = 2
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		hint := "; see " + c.CommandPath() + " --help"
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			hint = "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return fmt.Errorf("unknown command %q of %s%s", short(args[0]), c.CommandPath(), hint)
	}
}

func exitCodes() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: "0  succeeded or unverified; a check that found nothing\n" +
		"1  failed, cancelled or expired; no connection\n2  wrong usage, configuration or request; an id that is settled with other content\n3  invalid or rejected\n4  not ended yet: queued, running, waiting for its backend or for a person"}
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: atMost(0), RunE: func(*cobra.Command, []string) error {
		if a.json {
			return a.versionJSON()
		}
		fmt.Fprintln(a.out, "emend", version)
		return nil
	}}
}

// versionJSON tells the version, and of which day the built-in prices are.
func (a *app) versionJSON() error {
	table, err := prices.Builtin()
	if err != nil {
		return err
	}
	return a.printJSON(map[string]string{"version": version, "prices": table.Source, "prices_date": table.Date})
}

func (a *app) printJSON(v any) error {
	b, err := schemas.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", b)
	return err
}

// pretty prints JSON indented for people.
func (a *app) pretty(raw []byte) {
	var v json.RawMessage = raw
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		b = raw
	}
	fmt.Fprintf(a.out, "%s\n", b)
}

// Colours, on a terminal only.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
	bold   = "1"
)

func (a *app) colour(code, s string) string {
	if !a.tty {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// statusColour is green for what succeeded, yellow for what is invalid, red for the rest.
func statusColour(status string) string {
	switch status {
	case schemas.StatusSucceeded:
		return green
	case schemas.StatusUnverified, schemas.StatusInvalid, schemas.StatusRejected:
		return yellow
	}
	return red
}

// exitOf is the exit code of a result.
func exitOf(r *schemas.Result) error {
	switch r.Status {
	case schemas.StatusSucceeded, schemas.StatusUnverified:
		return nil
	case schemas.StatusInvalid, schemas.StatusRejected:
		return &exitError{code: exitInvalid}
	}
	if r.Error != nil && (r.Error.Category == schemas.CategoryInvalidRequest || r.Error.Category == schemas.CategoryIDConflict) {
		return &exitError{code: exitUsage}
	}
	return &exitError{code: exitFailed}
}
