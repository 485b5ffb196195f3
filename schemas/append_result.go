package schemas

// AppendJSON appends the result as Marshal writes it.
func (r *Result) AppendJSON(dst []byte) ([]byte, error) {
	a := appender{buf: dst}
	a.open()
	a.text(`"id":`, r.ID)
	a.text(`"queue":`, r.Queue)
	a.text(`"status":`, r.Status)
	a.answer(r)
	a.usage(`"usage":`, r.Usage)
	a.usage(`"validator_usage":`, r.ValidatorUsage)
	a.cost(r.Cost)
	if r.Review != nil {
		a.other(`"review":`, r.Review)
	}
	if r.Error != nil {
		a.other(`"error":`, r.Error)
	}
	a.counts(r.Counts)
	a.source(&r.Source)
	a.attempts(r.Attempts)
	if r.AttemptsBlob != nil {
		a.other(`"attempts_blob":`, r.AttemptsBlob)
	}
	if len(r.Stages) > 0 {
		a.other(`"stages":`, r.Stages)
	}
	if r.Pipeline != nil {
		a.other(`"pipeline":`, r.Pipeline)
	}
	a.timing(r.TimingMS)
	a.request(r.Request)
	if len(r.Warnings) > 0 {
		a.other(`"warnings":`, r.Warnings)
	}
	if len(r.Metadata) > 0 {
		a.other(`"metadata":`, r.Metadata)
	}
	a.close()
	return a.buf, a.err
}

// answer is the output, wherever it stands, and the verdict on it.
func (a *appender) answer(r *Result) {
	if len(r.Output) > 0 {
		a.raw(`"output":`, r.Output)
	}
	if r.OutputText != nil {
		a.text(`"output_text":`, *r.OutputText)
	}
	if r.OutputBlob != nil {
		a.other(`"output_blob":`, r.OutputBlob)
	}
	if r.Validation != nil {
		a.validation(r.Validation)
	}
}

func (a *appender) validation(v *Validation) {
	a.key(`"validation":`)
	a.open()
	a.text(`"mode":`, v.Mode)
	a.truth(`"valid":`, v.Valid)
	a.text(`"class":`, v.Class)
	a.number(`"repair_attempts":`, int64(v.RepairAttempts))
	a.truth(`"complete":`, v.Complete)
	list(a, `"findings":`, v.Findings)
	if v.Truncated {
		a.truth(`"truncated":`, true)
	}
	a.optText(`"next_correction":`, v.NextCorrection)
	a.optText(`"mended":`, v.Mended)
	a.optText(`"rules":`, v.Rules)
	if len(v.Changed) > 0 {
		a.other(`"changed":`, v.Changed)
	}
	list(a, `"validators":`, v.Validators)
	if v.Policy != nil {
		a.other(`"policy":`, v.Policy)
	}
	a.close()
}

// list writes an array that is empty for most runs.
func list[T any](a *appender, name string, v []T) {
	switch {
	case v == nil:
		a.key(name)
		a.buf = append(a.buf, "null"...)
	case len(v) == 0:
		a.key(name)
		a.buf = append(a.buf, "[]"...)
	default:
		a.other(name, v)
	}
}

func (a *appender) source(s *Source) {
	a.key(`"source":`)
	a.open()
	a.optText(`"prompt":`, s.Prompt)
	a.optText(`"prompt_sha256":`, s.PromptSHA256)
	a.optNumber(`"catalog":`, int64(s.Catalog))
	a.optText(`"profile":`, s.Profile)
	a.optText(`"backend":`, s.Backend)
	a.optText(`"model":`, s.Model)
	a.optText(`"model_reported":`, s.ModelReported)
	a.optText(`"worker":`, s.Worker)
	a.close()
}

func (a *appender) attempts(all []Attempt) {
	a.key(`"attempts":`)
	if all == nil {
		a.buf = append(a.buf, "null"...)
		return
	}
	a.buf = append(a.buf, '[')
	for i := range all {
		t := &all[i]
		a.key("")
		a.open()
		a.optNumber(`"stage_attempt":`, int64(t.StageAttempt))
		a.number(`"generation":`, int64(t.Generation))
		a.text(`"generation_kind":`, t.GenerationKind)
		a.number(`"attempt":`, int64(t.Attempt))
		a.text(`"outcome":`, t.Outcome)
		a.optNumber(`"status":`, int64(t.Status))
		a.number(`"duration_ms":`, t.DurationMS)
		a.optNumber(`"wait_ms":`, t.WaitMS)
		a.optText(`"finish":`, t.Finish)
		a.optText(`"provider_finish":`, t.ProviderFinish)
		if t.Content != nil {
			a.other(`"content":`, t.Content)
		}
		a.close()
	}
	a.buf = append(a.buf, ']')
}

func (a *appender) request(r RequestRef) {
	a.key(`"request":`)
	a.open()
	a.optText(`"sha256":`, r.SHA256)
	a.unsigned(`"seq":`, r.Seq)
	a.unsigned(`"delivery":`, r.Delivery)
	a.close()
}
