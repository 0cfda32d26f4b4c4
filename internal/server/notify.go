package server

import (
	"io"
	"log/slog"
	"net"
	"os"
)

// NewServiceNotifier returns a function that reports the state of the server to the service
// manager, as in sd_notify(3) of systemd: lines such as READY=1, in a datagram to the socket in
// NOTIFY_SOCKET. Without NOTIFY_SOCKET it does nothing.
func NewServiceNotifier(l *slog.Logger) func(state string) {
	address := os.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return func(string) {}
	}
	return func(state string) {
		if err := sendDatagram(address, state); err != nil {
			l.Warn("the service manager was not notified", "state", state, "error", err)
		}
	}
}

func sendDatagram(socket, text string) error {
	c, err := net.Dial("unixgram", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.WriteString(c, text)
	return err
}
