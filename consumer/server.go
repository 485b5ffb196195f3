package consumer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"emend/prompts"
)

// CheckServer says what is wrong with the server of a connection: too old for the promise, or without rights. Emend is
// built and tested on nats-server 2.15; 2.12.3 and 2.12.4 lost exhausted work-queue messages on replicated streams.
func CheckServer(nc *nats.Conn, cfg prompts.NATS) error {
	major, minor, ok := version(nc.ConnectedServerVersion())
	if ok && (major < 2 || (major == 2 && minor < 12)) {
		return fmt.Errorf("nats-server %s is too old: Emend needs 2.12 or newer and is tested on 2.15", nc.ConnectedServerVersion())
	}
	if cfg.Replicas == 1 && !cfg.SingleReplica && nc.ConnectedClusterName() != "" {
		return fmt.Errorf("nats.replicas is 1, yet the server belongs to the cluster %q: a lost node would lose runs; "+
			"set nats.replicas: 3, or nats.single_replica: true if that is what you want", nc.ConnectedClusterName())
	}
	return nil
}

// OldServer says, in one line, that a server is older than what Emend is tested on; "" if it is not.
func OldServer(nc *nats.Conn) string {
	if major, minor, ok := version(nc.ConnectedServerVersion()); ok && (major < 2 || (major == 2 && minor < 15)) {
		return "nats-server " + nc.ConnectedServerVersion() + " is older than 2.15, which Emend is tested on"
	}
	return ""
}

func version(s string) (major, minor int, ok bool) {
	parts := strings.SplitN(s, ".", 3)
	if len(parts) < 2 {
		return 0, 0, false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return major, minor, err1 == nil && err2 == nil
}
