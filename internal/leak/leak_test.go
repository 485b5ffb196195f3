package leak

import (
	"strings"
	"testing"
)

func TestOurs(t *testing.T) {
	if left := ours(); strings.Contains(left, "TestOurs.") {
		t.Fatalf("before anything was started:\n%s", left)
	}
	started, stop, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		close(started)
		<-stop
	}()
	<-started
	if left := ours(); !strings.Contains(left, "TestOurs.") {
		t.Errorf("a goroutine that waits is not found:\n%s", left)
	}
	close(stop)
	<-ended
}
