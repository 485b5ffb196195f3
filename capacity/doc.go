// Package capacity bounds what happens at a backend at once: a Gate with admission (a run's place, held until it
// ends), permits (held only while a provider call is under way) and trouble (seeds 000 and 003; design sections 2, 3).
package capacity
