package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Prefixes of the keys, for List.
const (
	HostPrefix     = "host/"
	DocumentPrefix = "doc/"
	VersionPrefix  = "ver/"
	TurnPrefix     = "turn/"
	BlobPrefix     = "blob/"
	AgentPrefix    = "agent/"
	HandlePrefix   = "handle/"
	CrawlLogPrefix = "log/"
	BlockPrefix    = "block/"
	DomainPrefix   = "domain/"
	KeyPrefix      = "key/"
	// AttestationPrefix is the prefix of all attestations, in the order of their numbers.
	AttestationPrefix = "attestation/"
	PendingPrefix     = "pending/"
	BanPrefix         = "ban/"
	ReportPrefix      = "report/"
	ContractPrefix    = "contract/"
	WitnessPrefix     = "witness/"
)

// Keys of the registry's admission policy.
const (
	AdmissionPolicyKey = "admission"
	// EarlierAdmissionPolicyKey is the key of the admission policy in data directories from before
	// December 2026. It is read while there is no record under AdmissionPolicyKey, and never
	// written.
	EarlierAdmissionPolicyKey = "door"
)

// CheckpointKey holds the newest checkpoint of the transparency log that follows the store.
const CheckpointKey = "checkpoint"

// MailPositionKey holds the position of the queue of mail (boltfile.File.Position): an older copy of
// the queue that is put back does not reach it.
const MailPositionKey = "mail"

// ReverseHost turns "www.example.com" into "com.example.www" and back.
func ReverseHost(host string) string {
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// HostKey is the key of a host's crawl state.
func HostKey(host string) string { return HostPrefix + ReverseHost(host) }

// DocumentKey is the key of a host's current document of one kind.
func DocumentKey(host, kind string) string { return DocumentsOf(host) + kind }

// DocumentsOf is the prefix of all current documents of a host.
func DocumentsOf(host string) string { return DocumentPrefix + ReverseHost(host) + "/" }

// VersionsOfAll is the prefix of all stored versions of a host's documents.
func VersionsOfAll(host string) string { return VersionPrefix + ReverseHost(host) + "/" }

// VersionsOf is the prefix of all stored versions of a host's document of one kind, oldest first.
func VersionsOf(host, kind string) string {
	return VersionPrefix + ReverseHost(host) + "/" + kind + "/"
}

// VersionKey is the key of one stored version.
func VersionKey(host, kind string, seen time.Time, digest string) string {
	return VersionsOf(host, kind) + seen.UTC().Format("20060102T150405.000Z") + "-" + digest
}

// TurnsOf is the prefix of the history of a host's states, oldest first.
func TurnsOf(host string) string { return TurnPrefix + ReverseHost(host) + "/" }

// TurnKey is the key of one change of a host's states.
func TurnKey(host string, at time.Time) string {
	return TurnsOf(host) + at.UTC().Format("20060102T150405.000Z")
}

// BlobKey is the key of the raw bytes with a digest.
func BlobKey(digest string) string { return BlobPrefix + digest }

// CrawlLogOf is the prefix of the requests to a host, oldest first.
func CrawlLogOf(host string) string { return CrawlLogPrefix + ReverseHost(host) + "/" }

// CrawlLogKey is the key of the requests to a host during one visit, which may be a visit to another
// host.
func CrawlLogKey(host string, at time.Time, visited string) string {
	return CrawlLogOf(host) + at.UTC().Format("20060102T150405.000Z") + "-" + visited
}

// BlockKey is the key of the entry that forbids visits to a host.
func BlockKey(host string) string { return BlockPrefix + ReverseHost(host) }

// DomainKey is the key of the record of a registrable domain.
func DomainKey(domain string) string { return DomainPrefix + ReverseHost(domain) }

// AgentKey is the key of an agent.
func AgentKey(airID string) string { return AgentPrefix + airID }

// EntriesOf is the prefix of the changes of an agent, oldest first.
func EntriesOf(airID string) string { return AgentKey(airID) + "/" }

// EntryKey is the key of the n-th change of an agent, from 1.
func EntryKey(airID string, n int) string {
	digits := strconv.Itoa(n)
	return AgentPrefix + airID + "/" + zeros[min(len(digits), len(zeros)):] + digits
}

// zeros pads the number of an entry, so that keys sort like numbers.
const zeros = "00000000"

// KeyKey is the key of an agent's proved public key, written as a multikey.
func KeyKey(multikey string) string { return KeyPrefix + multikey }

// AttestationKey is the key of the n-th attestation, from 1.
func AttestationKey(n int) string { return fmt.Sprintf("%s%010d", AttestationPrefix, n) }

// HandleKey is the key of a handle's holder.
func HandleKey(handle string) string { return HandlePrefix + handle }

// PendingKey is the key of a registration that waits for the operator.
func PendingKey(airID string) string { return PendingPrefix + airID }

// BansOf is the prefix of one of the registry's block lists.
func BansOf(kind string) string { return BanPrefix + kind + "/" }

// BanKey is the key of one entry of a block list.
func BanKey(kind, value string) string { return BansOf(kind) + value }

// ReportKey is the key of an abuse report, whose id begins with its time.
func ReportKey(id string) string { return ReportPrefix + id }

// SplitKey returns the parts of a key, with a reversed host turned back: for "doc/com.example/ai"
// it returns "doc", "example.com", "ai". Keys without a host come back as their plain parts.
func SplitKey(key string) []string {
	parts := strings.Split(key, "/")
	switch parts[0] + "/" {
	case HostPrefix, DocumentPrefix, VersionPrefix, TurnPrefix, CrawlLogPrefix, BlockPrefix, DomainPrefix:
		if len(parts) > 1 {
			parts[1] = ReverseHost(parts[1])
		}
	}
	return parts
}

// ContractKey is the key of a contract of the tool host.
func ContractKey(name string) string { return ContractPrefix + name }
