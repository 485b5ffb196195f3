package prompts

import "emend/internal/prices"

// Forget gives back the memory of what only the loading of definitions needs, for a process that has loaded them. Who loads again
// waits for it to be made.
func Forget() {
	for _, p := range []*published{publishedConfig, publishedPrompt, publishedPipeline} {
		p.forget()
	}
	prices.Forget()
}

func (p *published) forget() {
	library.Lock()
	defer library.Unlock()
	p.schema = nil
}
