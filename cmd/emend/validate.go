package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"emend/engine/contract"
	"emend/schemas"
)

// validate judges one text offline.
func (a *app) validate() *cobra.Command {
	var schema, mode, prompt, dir string
	var lastWins, portability bool
	c := &cobra.Command{Use: "validate [FILE|-]", Short: "Judge one text under an output contract, offline", Args: atMost(1),
		Long: "Judges a text as a worker judges an answer. Exit 0: valid. Exit 3: invalid. Exit 2: the schema or the file is bad.\n" +
			"--mode is none, basic, json or json_schema; by default json_schema with --schema, else json.\n" +
			"With --portability no text is read: it prints for every provider how the schema goes out, and what is not enforced there.",
		RunE: func(_ *cobra.Command, args []string) error {
			if portability && len(args) > 0 {
				return errors.New("--portability reads no text: give --schema or --prompt alone")
			}
			if portability {
				return a.portability(schema, prompt, dir)
			}
			if prompt != "" {
				return errors.New("--prompt belongs to --portability: a text is judged with --schema")
			}
			judge, err := compile(schema, mode, lastWins)
			if err != nil {
				return err
			}
			text, err := a.readText(args)
			if err != nil {
				return err
			}
			return a.printVerdict(judge.Judge(text))
		}}
	c.Flags().StringVar(&schema, "schema", "", "a JSON Schema `FILE`")
	c.Flags().StringVar(&mode, "mode", "", "the output `MODE`")
	c.Flags().BoolVar(&portability, "portability", false, "print how each provider carries the schema of --schema or --prompt")
	c.Flags().StringVar(&prompt, "prompt", "", "with --portability: the `PROMPT` whose schema and backend are meant")
	c.Flags().StringVar(&dir, "dir", ".", "with --prompt: the `FOLDER` with emend.yaml and prompts/")
	c.Flags().BoolVar(&lastWins, "last-wins", false, "accept repeated keys; the last counts")
	return c
}

func compile(schema, mode string, lastWins bool) (*contract.Contract, error) {
	spec := contract.Spec{Mode: mode, LastWins: lastWins}
	if mode == "" {
		spec.Mode = schemas.ModeJSON
		if schema != "" {
			spec.Mode = schemas.ModeJSONSchema
		}
	}
	if schema != "" {
		b, err := os.ReadFile(schema)
		if err != nil {
			return nil, err
		}
		spec.Schema = b
	}
	c, err := contract.Compile(spec)
	if err != nil && schema != "" {
		return nil, fmt.Errorf("%s: %w", schema, err)
	}
	return c, err
}

func (a *app) readText(args []string) ([]byte, error) {
	if len(args) == 0 || args[0] == "-" {
		b, err := io.ReadAll(a.in)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return b, nil
	}
	return os.ReadFile(args[0])
}

// verdictJSON is the form of `emend validate --json`.
type verdictJSON struct {
	Valid    bool              `json:"valid"`
	Class    string            `json:"class"`
	Findings []schemas.Finding `json:"findings"`
	Omitted  int               `json:"omitted,omitempty"`
}

func (a *app) printVerdict(v contract.Verdict) error {
	if v.Err != nil {
		return &exitError{code: exitUsage, err: fmt.Errorf("the text could not be judged: %w", v.Err)}
	}
	out := verdictJSON{Valid: v.Valid(), Class: string(v.Class), Findings: []schemas.Finding{}, Omitted: v.Omitted}
	for _, f := range v.Findings {
		out.Findings = append(out.Findings, schemas.Finding{Pointer: f.Pointer, Keyword: f.Keyword, Message: f.Message, Expected: f.Expected})
	}
	if a.json {
		if err := a.printJSON(out); err != nil {
			return err
		}
	} else {
		a.verdictLines(out)
	}
	if !out.Valid {
		return &exitError{code: exitInvalid}
	}
	return nil
}

func (a *app) verdictLines(v verdictJSON) {
	if v.Valid {
		fmt.Fprintln(a.out, a.colour(green, "valid"))
		return
	}
	fmt.Fprintln(a.out, a.colour(yellow, v.Class))
	for _, f := range v.Findings {
		fmt.Fprintf(a.out, "- %s: %s: %s\n", contract.DisplayPath(f.Pointer), f.Keyword, f.Message)
	}
	if v.Omitted > 0 {
		fmt.Fprintf(a.out, "and %d more\n", v.Omitted)
	}
}
