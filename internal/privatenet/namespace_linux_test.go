package privatenet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The environment tells a process of this binary where it is.
const (
	insideDir  = "PRIVATE_NETWORK_DIR"        // it is inside, and this is its directory
	impossible = "PRIVATE_NETWORK_IMPOSSIBLE" // there is no inside, for this reason
	ipv4Only   = "PRIVATE_NETWORK_IPV4_ONLY"  // 1: the kernel has no IPv6
	// notEntered is the exit code of a process that could not make the network.
	notEntered = 87
)

// TestMain runs the tests again in a network of their own.
func TestMain(m *testing.M) {
	if agents := os.Getenv(strangersEnv); agents != "" {
		if err := beStrangers(strings.Fields(agents)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(insideDir); dir != "" {
		if err := furnish(dir); err != nil {
			fmt.Println("make a private network:", err)
			os.Exit(notEntered)
		}
		os.Exit(m.Run())
	}
	code, err := enter()
	if err == nil {
		os.Exit(code)
	}
	os.Setenv(impossible, err.Error()) // each test says so: see openWorld
	os.Exit(m.Run())
}

// enter builds the program and runs this binary with the same arguments in new namespaces. The
// error says that the system does not provide them.
func enter() (code int, err error) {
	dir, err := os.MkdirTemp("", "privatenet")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "gazetteer"), "gazetteer/cmd/gazetteer")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("build the program: %v\n%s", err, out)
		return 1, nil
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	inside := exec.Command(self, uncached(os.Args[1:])...)
	inside.Env = append(os.Environ(), insideDir+"="+dir)
	inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, os.Stdout, os.Stderr
	inside.SysProcAttr = namespaces()
	runtime.LockOSThread() // Pdeathsig is about the thread
	defer runtime.UnlockOSThread()
	err = inside.Run()
	var exited *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exited):
		return 0, fmt.Errorf("enter new namespaces: %w", err)
	case exited.ExitCode() == notEntered:
		return 0, errors.New("the namespaces are there, but cannot be furnished: see above")
	}
	return max(exited.ExitCode(), 1), nil
}

// uncached takes out of the arguments the file by which go test would know when
// it may show an old result: it does not see that the program has changed.
func uncached(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-test.testlogfile") })
}

// namespaces asks for a network and mounts of one's own, and for the right to
// change them.
func namespaces() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	return a
}

// resolvConf is what an operator of a busy machine would write.
const resolvConf = "nameserver 127.0.0.1\noptions attempts:5\n"

// furnish puts an /etc of our own in the place of the machine's, and brings the
// network up, in which every address is one of this machine.
func furnish(dir string) error {
	etc := filepath.Join(dir, "etc")
	for name, text := range map[string]string{
		"resolv.conf":   resolvConf,
		"nsswitch.conf": "hosts: files dns\n",
		"hosts":         "127.0.0.1 localhost\n::1 localhost\n",
	} {
		if err := os.MkdirAll(etc, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := syscall.Mount(etc, "/etc", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount our own /etc: %w", err)
	}
	k, err := openKernel()
	if err != nil {
		return err
	}
	defer k.close()
	if err := k.up(); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	if err := k.everythingIsHere(syscall.AF_INET); err != nil {
		return fmt.Errorf("lead all IPv4 addresses here: %w", err)
	}
	if err := k.nobodyIsAt(nobody4); err != nil {
		return fmt.Errorf("leave some IPv4 addresses to nobody: %w", err)
	}
	if err := k.everythingIsHere(syscall.AF_INET6); err != nil {
		fmt.Println("there is no IPv6 here, so nothing is tried with it:", err)
		return os.Setenv(ipv4Only, "1")
	}
	return nil
}

// A kernel is asked over a netlink socket (man 7 rtnetlink).
type kernel struct {
	socket   int
	loopback int // its index
}

func openKernel() (*kernel, error) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return nil, fmt.Errorf("find loopback: %w", err)
	}
	s, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	return &kernel{s, lo.Index}, nil
}

func (k *kernel) close() { syscall.Close(k.socket) }

// up brings loopback up: struct ifinfomsg with one flag.
func (k *kernel) up() error {
	var b []byte
	b = append(b, syscall.AF_UNSPEC, 0)
	b = binary.NativeEndian.AppendUint16(b, 0) // any kind of device
	b = binary.NativeEndian.AppendUint32(b, uint32(k.loopback))
	b = binary.NativeEndian.AppendUint32(b, syscall.IFF_UP)
	b = binary.NativeEndian.AppendUint32(b, syscall.IFF_UP) // the flags to change
	return k.ask(syscall.RTM_NEWLINK, 0, b)
}

// everythingIsHere adds the route "local default dev lo" of a family: struct
// rtmsg, and the device as its one attribute.
func (k *kernel) everythingIsHere(family byte) error {
	b := []byte{family, 0, 0, 0, syscall.RT_TABLE_LOCAL, syscall.RTPROT_BOOT, syscall.RT_SCOPE_HOST, syscall.RTN_LOCAL}
	b = binary.NativeEndian.AppendUint32(b, 0)
	b = binary.NativeEndian.AppendUint16(b, 8) // bytes of the attribute
	b = binary.NativeEndian.AppendUint16(b, syscall.RTA_OIF)
	b = binary.NativeEndian.AppendUint32(b, uint32(k.loopback))
	return k.ask(syscall.RTM_NEWROUTE, syscall.NLM_F_CREATE, b)
}

// nobodyIsAt adds the route "unreachable" for IPv4 addresses.
func (k *kernel) nobodyIsAt(p netip.Prefix) error {
	const rtnUnreachable = 7 // the one that package syscall has no name for
	b := []byte{syscall.AF_INET, byte(p.Bits()), 0, 0, syscall.RT_TABLE_LOCAL, syscall.RTPROT_BOOT, syscall.RT_SCOPE_UNIVERSE, rtnUnreachable}
	b = binary.NativeEndian.AppendUint32(b, 0)
	b = binary.NativeEndian.AppendUint16(b, 8) // bytes of the attribute
	b = binary.NativeEndian.AppendUint16(b, syscall.RTA_DST)
	return k.ask(syscall.RTM_NEWROUTE, syscall.NLM_F_CREATE, append(b, p.Addr().AsSlice()...))
}

// ask makes a request and waits for its acknowledgement.
func (k *kernel) ask(kind, flags uint16, body []byte) error {
	var b []byte
	b = binary.NativeEndian.AppendUint32(b, uint32(syscall.NLMSG_HDRLEN+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, syscall.NLM_F_REQUEST|syscall.NLM_F_ACK|flags)
	b = binary.NativeEndian.AppendUint32(b, 1) // its number
	b = binary.NativeEndian.AppendUint32(b, 0)
	if err := syscall.Sendto(k.socket, append(b, body...), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return err
	}
	in := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(k.socket, in, 0)
	if err != nil {
		return err
	}
	answers, err := syscall.ParseNetlinkMessage(in[:n])
	if err != nil {
		return err
	}
	for _, a := range answers {
		if a.Header.Type != syscall.NLMSG_ERROR || len(a.Data) < 4 {
			continue
		}
		if code := int32(binary.NativeEndian.Uint32(a.Data)); code != 0 {
			return syscall.Errno(-code)
		}
		return nil
	}
	return errors.New("the kernel does not acknowledge the request")
}
