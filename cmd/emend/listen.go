package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen listens on the address of a flag, and says what to do where somebody else does.
func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, failed(fmt.Errorf("%s is not free; stop what listens there, or choose another with %s (port 0 picks a free one): %w", addr, flag, err))
	}
	return nil, failed(fmt.Errorf("%s: %w", flag, err))
}
