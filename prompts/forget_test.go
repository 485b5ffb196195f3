package prompts

import (
	"sync"
	"testing"
)

// What was forgotten is made again, also while others load.
func TestForget(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				if _, err := LoadDir("testdata/good"); err != nil {
					t.Error(err)
				}
				Forget()
			}
		})
	}
	all.Wait()
	if publishedConfig.schema != nil || publishedPrompt.schema != nil || publishedPipeline.schema != nil {
		t.Error("a schema is remembered")
	}
}
