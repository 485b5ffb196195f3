package schemas

// AppendJSON appends the event as Marshal writes it.
func (e *Event) AppendJSON(dst []byte) ([]byte, error) {
	a := appender{buf: dst}
	a.open()
	a.number(`"v":`, int64(e.V))
	a.text(`"run_id":`, e.RunID)
	a.text(`"queue":`, e.Queue)
	a.text(`"kind":`, e.Kind)
	a.number(`"seq":`, int64(e.Seq))
	a.moment(`"at":`, e.At)
	a.optText(`"worker":`, e.Worker)
	a.unsigned(`"delivery":`, e.Delivery)
	a.place(e)
	a.optText(`"outcome":`, e.Outcome)
	a.optText(`"category":`, e.Category)
	a.optNumber(`"status":`, int64(e.Status))
	a.optText(`"cause":`, e.Cause)
	a.found(e)
	a.optPointer(`"wait_ms":`, e.WaitMS)
	a.optPointer(`"duration_ms":`, e.DurationMS)
	if e.Usage != nil {
		a.key(`"usage":`)
		a.open()
		a.tokens(e.Usage)
		a.close()
	}
	if e.Cost != nil {
		a.dollars(`"cost_usd":`, *e.Cost)
	}
	if e.Totals != nil {
		a.totals(e.Totals)
	}
	a.optText(`"pipeline":`, e.Pipeline)
	a.optText(`"stage":`, e.Stage)
	a.optText(`"lane":`, e.Lane)
	if e.Jobs != nil {
		a.other(`"jobs":`, e.Jobs)
	}
	a.close()
	return a.buf, a.err
}

// place is where in the run an event belongs.
func (a *appender) place(e *Event) {
	a.optText(`"prompt":`, e.Prompt)
	a.optText(`"profile":`, e.Profile)
	a.optText(`"backend":`, e.Backend)
	a.optText(`"model":`, e.Model)
	a.optNumber(`"stage_attempt":`, int64(e.StageAttempt))
	a.optNumber(`"generation":`, int64(e.Generation))
	a.optText(`"generation_kind":`, e.GenerationKind)
	a.optNumber(`"attempt":`, int64(e.Attempt))
	a.optText(`"validator":`, e.Validator)
}

// found is what only some verdicts have.
func (a *appender) found(e *Event) {
	if len(e.Findings) > 0 {
		a.other(`"findings":`, e.Findings)
	}
	a.optText(`"mended":`, e.Mended)
	if len(e.Changed) > 0 {
		a.other(`"changed":`, e.Changed)
	}
	if len(e.Codes) > 0 {
		a.other(`"codes":`, e.Codes)
	}
}

func (a *appender) totals(t *Totals) {
	a.key(`"totals":`)
	a.open()
	a.counts(t.Counts)
	a.usage(`"usage":`, t.Usage)
	a.usage(`"validator_usage":`, t.ValidatorUsage)
	a.cost(t.Cost)
	a.timing(t.TimingMS)
	a.close()
}

func (a *appender) cost(c *Cost) {
	if c == nil {
		return
	}
	a.key(`"cost":`)
	a.open()
	a.text(`"state":`, c.State)
	if c.USD != nil {
		a.dollars(`"usd":`, *c.USD)
	}
	a.close()
}

func (a *appender) dollars(name string, u USD) {
	a.key(name)
	a.buf = append(a.buf, u.String()...)
}

func (a *appender) counts(c Counts) {
	a.key(`"counts":`)
	a.open()
	a.number(`"calls":`, int64(c.Calls))
	a.number(`"retries":`, int64(c.Retries))
	a.number(`"repairs":`, int64(c.Repairs))
	a.number(`"corrections":`, int64(c.Corrections))
	a.optNumber(`"validator_calls":`, int64(c.ValidatorCalls))
	a.number(`"executions":`, int64(c.Executions))
	a.close()
}

func (a *appender) usage(name string, u *Usage) {
	if u == nil {
		return
	}
	a.key(name)
	a.open()
	a.tokens(&u.Tokens)
	a.number(`"calls":`, int64(u.Calls))
	a.number(`"calls_without_usage":`, int64(u.CallsWithoutUsage))
	a.truth(`"complete":`, u.Complete)
	if len(u.Partial) > 0 {
		a.other(`"partial":`, u.Partial)
	}
	a.close()
}

func (a *appender) tokens(t *Tokens) {
	a.optPointer(`"input_tokens":`, t.Input)
	a.optPointer(`"output_tokens":`, t.Output)
	a.optPointer(`"cached_tokens":`, t.Cached)
	a.optPointer(`"cache_written_tokens":`, t.CacheWritten)
	a.optPointer(`"reasoning_tokens":`, t.Reasoning)
	if len(t.Other) > 0 {
		a.other(`"other":`, t.Other)
	}
}

func (a *appender) timing(t Timing) {
	a.key(`"timing_ms":`)
	a.open()
	a.number(`"queued":`, t.Queued)
	a.number(`"waiting":`, t.Waiting)
	a.number(`"model":`, t.Model)
	a.number(`"total":`, t.Total)
	a.close()
}
