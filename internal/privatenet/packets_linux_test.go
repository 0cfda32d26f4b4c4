package privatenet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// A watch sees the first packet of every TCP connection that anybody in the
// network begins, whether or not somebody answers.
type watch struct {
	socket *os.File
	ended  sync.WaitGroup

	mu   sync.Mutex // guards begun
	seen map[netip.AddrPort]int
}

// bigEndian is a number as the network writes it, read as this machine does.
func bigEndian(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}

func openWatch() (*watch, error) {
	protocol := bigEndian(syscall.ETH_P_ALL)
	// Without a protocol the socket receives no packets yet, so that the filter is installed first.
	s, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	if err = attach(s, beginnings()); err == nil {
		err = syscall.Bind(s, &syscall.SockaddrLinklayer{Protocol: protocol})
	}
	if err != nil {
		syscall.Close(s)
		return nil, fmt.Errorf("watch the network: %w", err)
	}
	w := &watch{socket: os.NewFile(uintptr(s), "packets"), seen: map[netip.AddrPort]int{}}
	w.ended.Go(w.read)
	return w, nil
}

// attach gives a socket a filter.
func attach(socket int, filter []syscall.SockFilter) error {
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, failed := syscall.Syscall6(syscall.SYS_SETSOCKOPT, uintptr(socket), syscall.SOL_SOCKET, syscall.SO_ATTACH_FILTER,
		uintptr(unsafe.Pointer(&program)), unsafe.Sizeof(program), 0)
	if failed != 0 {
		return failed
	}
	return nil
}

// beginnings is a filter (man 7 socket, SO_ATTACH_FILTER) for TCP segments with
// SYN and without ACK, in IPv4 and in IPv6 without extension headers.
func beginnings() []syscall.SockFilter {
	const load, loadAt, and, equal, length, give = syscall.BPF_LD | syscall.BPF_B | syscall.BPF_ABS, syscall.BPF_LD | syscall.BPF_B | syscall.BPF_IND,
		syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K, syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K,
		syscall.BPF_LDX | syscall.BPF_B | syscall.BPF_MSH, syscall.BPF_RET | syscall.BPF_K
	op := func(code int, k uint32, yes, no uint8) syscall.SockFilter {
		return syscall.SockFilter{Code: uint16(code), K: k, Jt: yes, Jf: no}
	}
	return []syscall.SockFilter{
		op(load, 0, 0, 0), // version
		op(and, 0xf0, 0, 0),
		op(equal, 0x40, 0, 5),
		op(load, 9, 0, 0), // IPv4: protocol
		op(equal, syscall.IPPROTO_TCP, 0, 9),
		op(length, 0, 0, 0),
		op(loadAt, 13, 0, 0), // flags
		op(syscall.BPF_JMP|syscall.BPF_JA, 4, 0, 0),
		op(equal, 0x60, 0, 5),
		op(load, 6, 0, 0), // IPv6: next header
		op(equal, syscall.IPPROTO_TCP, 0, 3),
		op(load, 40+13, 0, 0), // flags
		op(and, 0x12, 0, 0),   // SYN, ACK
		op(equal, 0x02, 1, 0),
		op(give, 0, 0, 0),
		op(give, 128, 0, 0),
	}
}

// read records the destination of each packet.
func (w *watch) read() {
	in := make([]byte, 128)
	for {
		n, err := w.socket.Read(in)
		if err != nil {
			return // closed
		}
		if to, ok := destination(in[:n]); ok {
			w.mu.Lock()
			w.seen[to]++
			w.mu.Unlock()
		}
	}
}

// destination returns the destination of a packet.
func destination(p []byte) (netip.AddrPort, bool) {
	if len(p) < 20 {
		return netip.AddrPort{}, false
	}
	header, from, to := int(p[0]&0xf)*4, 16, 20
	if p[0]>>4 == 6 {
		header, from, to = 40, 24, 40
	}
	if len(p) < header+4 || len(p) < to {
		return netip.AddrPort{}, false
	}
	a, ok := netip.AddrFromSlice(p[from:to])
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(p[header+2:])), ok
}

// to returns how many packets were seen for each place.
func (w *watch) to() map[netip.AddrPort]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[netip.AddrPort]int{}
	for at, n := range w.seen {
		all[at] = n
	}
	return all
}

func (w *watch) close() {
	w.socket.Close()
	w.ended.Wait()
}
