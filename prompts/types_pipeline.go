package prompts

import "fmt"

// Pipeline is one version of a pipeline definition.
type Pipeline struct {
	// Name and Version come from the file's name, <name>@<version>.yaml.
	Name    string `yaml:"-"`
	Version int    `yaml:"-"`
	// File is where it was read, "" for one made by a program.
	File        string `yaml:"-"`
	Description string `yaml:"description"`
	// Document bounds the input that is cut, Inputs are what a request gives besides.
	Document DocumentSpec     `yaml:"document"`
	Inputs   map[string]Input `yaml:"inputs"`
	Chunk    ChunkSpec        `yaml:"chunk"`
	// Lanes stand in the order of the file.
	Lanes            []LaneSpec     `yaml:"lanes"`
	Output           PipelineOutput `yaml:"output"`
	ValidationPolicy StagePolicy    `yaml:"validation_policy"`
	// Reuse is auto, refresh or none, where a request does not say.
	Reuse string `yaml:"reuse"`
	// Window is how many jobs may be published and not ended.
	Window int `yaml:"window"`
}

// Ref is name@version.
func (p Pipeline) Ref() string { return fmt.Sprintf("%s@%d", p.Name, p.Version) }

// DocumentSpec bounds the document.
type DocumentSpec struct {
	Max Size `yaml:"max"`
}

// StagePolicy is a validation_policy of a pipeline or of one of its stages: an absent word is inherited.
type StagePolicy struct {
	ProducerStructuralFailure string `yaml:"producer_structural_failure"`
	SemanticRejection         string `yaml:"semantic_rejection"`
	ValidatorFailure          string `yaml:"validator_failure"`
}

// ChunkSpec is the chunk stage: a chunker, or a prompt that says in which lines chunks begin.
type ChunkSpec struct {
	By      string `yaml:"by"`
	Size    Size   `yaml:"size"`
	Overlap Size   `yaml:"overlap"`
	Level   int    `yaml:"level"`
	Per     int    `yaml:"per"`
	// RepairAttempts are those of the prompt's answer, whose contract is Emend's own.
	RepairAttempts *int `yaml:"repair_attempts"`
	Producer
}

// LaneSpec is one lane.
type LaneSpec struct {
	Name      string        `yaml:"-"`
	Extract   *ExtractSpec  `yaml:"extract"`
	Merge     CombineSpec   `yaml:"merge"`
	Normalize NormalizeSpec `yaml:"normalize"`
}

// Producer is what every stage may have: a prompt, and how its answers are validated.
type Producer struct {
	Prompt string `yaml:"prompt"`
	// Retries replaces the prompt's; nil leaves them.
	Retries *int `yaml:"retries"`
	// Checks come after the prompt's own. A stage without a prompt has rules alone.
	Checks           []CheckSpec `yaml:"checks"`
	ValidationPolicy StagePolicy `yaml:"validation_policy"`
}

// ExtractSpec is the extract stage of a lane: a prompt per chunk.
type ExtractSpec struct {
	Producer
}

// CombineSpec is a merge: an operation, or a prompt.
type CombineSpec struct {
	By         string   `yaml:"by"`
	At         string   `yaml:"at"`
	Key        []string `yaml:"key"`
	Order      string   `yaml:"order"`
	Separator  *string  `yaml:"separator"`
	Expression string   `yaml:"expression"`
	Producer
}

// NormalizeSpec is a normalize: an operation, or a prompt that may be asked again.
type NormalizeSpec struct {
	CombineSpec
	RetryWhen string `yaml:"retry_when"`
	Fallback  string `yaml:"fallback"`
}

// PipelineOutput is the contract of the lanes together.
type PipelineOutput struct {
	Schema SchemaRef `yaml:"schema"`
	Rules  []Rule    `yaml:"rules"`
}

// Words of CombineSpec.Order.
const (
	orderAscending  = "ascending"
	orderDescending = "descending"
)
