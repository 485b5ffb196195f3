package subjects

import (
	"fmt"
	"strings"
)

// Keys of the state bucket that belong to backends. No queue's name begins with an underscore, so they are no run's.
const (
	gatePrefix  = "_gate."
	probePrefix = "_probe."
	ratePrefix  = "_rate."
	// Budgets are of backends and of queues.
	backendBudget = "_budget.backend."
	queueBudget   = "_budget.queue."
)

// GateKey is the key, in the state bucket, under which workers tell each other that a backend's gate closed or opened.
func (n Names) GateKey(backend string) string { return gatePrefix + backend }

// AllGateKeys covers every backend.
func (n Names) AllGateKeys() string { return gatePrefix + "*" }

// ProbeKey is the key, in the state bucket, that the worker holds which sends the probe to a backend.
func (n Names) ProbeKey(backend string) string { return probePrefix + backend }

// ParseGateKey reads the key of a gate.
func (n Names) ParseGateKey(key string) (backend string, err error) { return parseKey(key, gatePrefix) }

// ParseProbeKey reads the key of a probe.
func (n Names) ParseProbeKey(key string) (backend string, err error) {
	return parseKey(key, probePrefix)
}

// RequestRateKey and TokenRateKey are the keys under which workers share what a backend takes a minute.
func (n Names) RequestRateKey(backend string) string { return ratePrefix + backend + ".requests" }

// TokenRateKey is the one for tokens.
func (n Names) TokenRateKey(backend string) string { return ratePrefix + backend + ".tokens" }

// BackendBudgetKey is the key under which workers share what the calls of a backend may cost in a day.
func (n Names) BackendBudgetKey(backend string) string { return backendBudget + backend }

// QueueBudgetKey is the key under which workers share what the runs of a queue may cost in a day.
func (n Names) QueueBudgetKey(queue string) string { return queueBudget + queue }

func parseKey(key, prefix string) (string, error) {
	backend, ok := strings.CutPrefix(key, prefix)
	if !ok {
		return "", fmt.Errorf("key %s: it must be %s<backend>", quote(key), prefix)
	}
	if err := checkName("backend", backend); err != nil {
		return "", err
	}
	return backend, nil
}
