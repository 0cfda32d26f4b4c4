package did

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A handle is 3 to 30 characters of a-z, 0-9 and "_".
const (
	minHandle = 3
	maxHandle = 30
	// maxHandleText is the longest text that is folded, in bytes: a full-width or decomposed
	// spelling of 30 characters takes at most 4 bytes a character.
	maxHandleText = 4 * maxHandle
)

// FoldHandle returns the canonical spelling under which a handle is stored and found: compatibility
// forms folded (NFKC), outer space removed, A-Z in lower case. Only a-z, 0-9 and "_" may remain, so
// look-alikes in other scripts are refused. It accepts reserved words, because handles that were
// assigned before a word was reserved must still be found. The error is an [*Error].
func FoldHandle(text string) (string, error) {
	malformed := &Error{
		Code:    "handle",
		Message: "username must be 3-30 characters of a-z, 0-9, or underscore",
		Help:    "letters of other scripts, dots and dashes are not possible; example: weather_bot",
	}
	if len(text) > maxHandleText {
		return "", malformed
	}
	folded := strings.TrimSpace(norm.NFKC.String(text))
	if len(folded) < minHandle || len(folded) > maxHandle {
		return "", malformed
	}
	out := []byte(folded)
	for i, c := range out {
		switch {
		case c >= 'A' && c <= 'Z':
			// Only ASCII is lowercased: Unicode would turn U+0130 into "i".
			out[i] = c + 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
		default:
			return "", malformed
		}
	}
	return string(out), nil
}

// ClaimHandle folds a handle that somebody requests. Beyond [FoldHandle] it refuses reserved words,
// including those spelled with digits for letters ("adm1n") or "_", and "air" followed by 12
// letters or digits, which reads like an AIR ID without its dashes.
func ClaimHandle(text string) (string, error) {
	handle, err := FoldHandle(text)
	if err != nil {
		return "", err
	}
	if isReserved(handle) || looksLikeAirID(handle) {
		return "", &Error{
			Code:    "handle-reserved",
			Message: "username is reserved",
			Help:    fmt.Sprintf("%q could be mistaken for the registry, its staff or an AIR ID; choose another", handle),
		}
	}
	return handle, nil
}

func isReserved(handle string) bool {
	return slices.ContainsFunc(reservedHandles, func(word string) bool { return LooksLike(handle, word) })
}

// LooksLike reports whether people can mistake one handle for another.
func LooksLike(handle, other string) bool { return visualSkeleton(handle) == visualSkeleton(other) }

// visualSkeleton returns the appearance of a handle: people confuse two handles with the same
// skeleton.
func visualSkeleton(handle string) string {
	return lookAlikes.Replace(strings.ReplaceAll(handle, "_", ""))
}

var lookAlikes = strings.NewReplacer("rn", "m", "vv", "w", "0", "o", "1", "i", "l", "i", "3", "e", "4", "a", "5", "s", "7", "t")

func looksLikeAirID(handle string) bool {
	return len(handle) == len("air")+12 && strings.HasPrefix(handle, "air") && !strings.Contains(handle, "_")
}

// reservedHandles are names by which an agent could pose as the registry, its staff, a role or a
// machine value.
var reservedHandles = []string{
	"about", "abuse", "admin", "administrator", "agent", "agents", "air", "airid", "anonymous",
	"anthropic", "api", "claude", "demo", "everyone", "foundation", "gazetteer", "health", "help",
	"helpdesk", "hostmaster", "info", "legal", "mail", "me", "mod", "moderator", "none", "noreply",
	"null", "official", "operator", "postmaster", "privacy", "registry", "root", "security",
	"staff", "superuser", "support", "sysadmin", "system", "terms", "undefined", "verified",
	"webmaster", "www", "you",
}
