package aidiscovery

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"gazetteer/protocol"
)

// checkTexts checks every string and every member name of the document for secrets and hidden text.
func (c *checker) checkTexts(n *protocol.Node) {
	if n.Kind == protocol.String {
		c.checkHostileText(n, n.Text, c.Add)
	}
	if n.Key != "" {
		c.checkHostileText(n, n.Key, c.AddKey)
	}
	for _, item := range n.Items {
		c.checkTexts(item)
	}
}

// checkHostileText reports a secret or hidden text in s, which is the value or the name
// of n.
func (c *checker) checkHostileText(n *protocol.Node, s string, add func(code string, n *protocol.Node, message, help string)) {
	if what, ok := findCredential(s); ok {
		// The message must not repeat the secret: findings are published.
		add("AI901", n, "this text holds "+what, "remove it and revoke it; everyone who read this document has it")
	}
	if what, ok := protocol.Instruction(s); ok {
		add("AI904", n, "this text holds "+protocol.DescribeInstruction(what), "describe the service only, in characters that can be seen")
	}
}

// A keyShape is the form by which an issuer makes its keys recognizable: a prefix, followed by a
// minimum number of characters of a set.
type keyShape struct {
	name   string
	prefix string
	more   string // characters beside letters and digits that may follow
	least  int
	upper  bool // letters are upper case only
}

// keyShapes are the shapes that issuers document for exactly this purpose.
var keyShapes = []keyShape{
	{name: "a Stripe key", prefix: "sk_live_", least: 16},
	{name: "a Stripe key", prefix: "rk_live_", least: 16},
	{name: "a Stripe webhook secret", prefix: "whsec_", least: 24},
	{name: "a GitHub token", prefix: "ghp_", least: 36},
	{name: "a GitHub token", prefix: "gho_", least: 36},
	{name: "a GitHub token", prefix: "ghu_", least: 36},
	{name: "a GitHub token", prefix: "ghs_", least: 36},
	{name: "a GitHub token", prefix: "ghr_", least: 36},
	{name: "a GitHub token", prefix: "github_pat_", more: "_", least: 40},
	{name: "a GitLab token", prefix: "glpat-", more: "_-", least: 20},
	{name: "an AWS access key", prefix: "AKIA", least: 16, upper: true},
	{name: "an AWS access key", prefix: "ASIA", least: 16, upper: true},
	{name: "a Google key", prefix: "AIza", more: "_-", least: 35},
	{name: "a Google token", prefix: "ya29.", more: "_-", least: 40},
	{name: "a Slack token", prefix: "xoxa-", more: "-", least: 20},
	{name: "a Slack token", prefix: "xoxb-", more: "-", least: 20},
	{name: "a Slack token", prefix: "xoxp-", more: "-", least: 20},
	{name: "a Slack token", prefix: "xoxr-", more: "-", least: 20},
	{name: "a Slack token", prefix: "xoxs-", more: "-", least: 20},
	{name: "a Slack webhook", prefix: "hooks.slack.com/services/T", more: "/", least: 30},
	{name: "an OpenAI key", prefix: "sk-proj-", more: "_-", least: 40},
	{name: "an OpenAI key", prefix: "sk-", least: 40},
	{name: "an Anthropic key", prefix: "sk-ant-", more: "_-", least: 40},
	{name: "a Hugging Face token", prefix: "hf_", least: 34},
	{name: "an npm token", prefix: "npm_", least: 36},
	{name: "a PyPI token", prefix: "pypi-AgE", more: "_-", least: 50},
	{name: "a SendGrid key", prefix: "SG.", more: "_-.", least: 60},
	{name: "a Shopify token", prefix: "shpat_", least: 32},
	{name: "a Shopify secret", prefix: "shpss_", least: 32},
	{name: "a DigitalOcean token", prefix: "dop_v1_", least: 64},
	{name: "a Databricks token", prefix: "dapi", least: 32},
}

// findCredential returns the name of the secret in s, if there is one. It reads each byte a few
// times at most.
func findCredential(s string) (string, bool) {
	if hasKeyLength(s) {
		for i := range keyShapes {
			if keyShapes[i].occursIn(s) {
				return keyShapes[i].name, true
			}
		}
		switch {
		case signedToken(s):
			return "a signed token (JWT)", true
		case hasSecretAfter(s, "Bearer "):
			return "a bearer token", true
		case slices.ContainsFunc(keyParameters, func(name string) bool { return hasSecretAfter(s, name) }):
			return "an address with a key in its query", true
		}
	}
	switch {
	case privateKey(s):
		return "a private key", true
	case passwordInAddress(s):
		return "an address with a password in it", true
	}
	return "", false
}

// keyParameters are the beginnings of query parameters that carry a key.
var keyParameters = []string{"?api_key=", "&api_key=", "?apikey=", "&apikey=", "?access_token=", "&access_token="}

// hasSecretAfter reports whether a random text of the length of a key follows the prefix.
func hasSecretAfter(s, prefix string) bool {
	for {
		_, after, ok := strings.Cut(s, prefix)
		if !ok {
			return false
		}
		end := 0
		for end < len(after) && inKey[after[end]] {
			end++
		}
		if isRandom(after[:end]) {
			return true
		}
		s = after[end:]
	}
}

// isRandom reports whether a text looks like a key of no known issuer: long, of many different
// letters and digits, and without a word that marks a placeholder.
func isRandom(text string) bool {
	const leastDigits = 3 // names in prose have fewer
	digits := 0
	for i := range len(text) {
		if isDigit(text[i]) {
			digits++
		}
	}
	if len(text) < minKeyLength || digits < leastDigits || strings.IndexFunc(text, unicode.IsLetter) < 0 || isPlaceholder(text) {
		return false
	}
	upper := strings.ToUpper(text[:min(len(text), 256)])
	return !slices.ContainsFunc(placeholders, func(word string) bool { return strings.Contains(upper, word) })
}

// placeholders are words in texts that stand for a key.
var placeholders = []string{"YOUR", "EXAMPLE", "TOKEN", "KEY", "SECRET", "HERE", "XXXX", "1234"}

// minKeyLength is the length of the shortest key of keyShapes, prefix included.
const minKeyLength = 20

// hasKeyLength reports whether s has a run of key characters as long as the shortest key. Nearly
// all prose has none, which saves the search for each shape.
func hasKeyLength(s string) bool {
	run := 0
	for i := range len(s) {
		if !inKey[s[i]] {
			run = 0
			continue
		}
		if run++; run == minKeyLength {
			return true
		}
	}
	return false
}

// inKey marks the bytes that occur in keys and signed tokens.
var inKey = func() (set [256]bool) {
	for c := range set {
		set[c] = isAlphanumeric(byte(c)) || strings.IndexByte("_-./", byte(c)) >= 0
	}
	return set
}()

// occursIn reports whether s contains a key of this shape. A key that its issuer marks as an
// example, or that repeats a few characters, is a placeholder and does not count.
func (k *keyShape) occursIn(s string) bool {
	for {
		i := strings.Index(s, k.prefix)
		if i < 0 {
			return false
		}
		end := i + len(k.prefix)
		for end < len(s) && k.mayFollow(s[end]) {
			end++
		}
		key := s[i+len(k.prefix) : end]
		whole := i == 0 || !isAlphanumeric(s[i-1]) && s[i-1] != '_'
		if whole && len(key) >= k.least && !isPlaceholder(key) {
			return true
		}
		s = s[end:]
	}
}

func (k *keyShape) mayFollow(c byte) bool {
	if k.upper && c >= 'a' && c <= 'z' {
		return false
	}
	return isAlphanumeric(c) || strings.IndexByte(k.more, c) >= 0
}

// isPlaceholder reports whether a key is an example instead of a real one.
func isPlaceholder(key string) bool {
	const least = 6 // different characters: real keys have far more
	var seen [256]bool
	different := 0
	for i := range len(key) {
		if !seen[key[i]] {
			seen[key[i]] = true
			different++
		}
	}
	return different < least || strings.HasSuffix(key, "EXAMPLE")
}

// privateKey finds the first line of a key in PEM.
func privateKey(s string) bool {
	for {
		before, after, ok := strings.Cut(s, "PRIVATE KEY-----")
		if !ok {
			return false
		}
		const longest = len("-----BEGIN ENCRYPTED ")
		if strings.Contains(before[max(0, len(before)-longest):], "-----BEGIN ") {
			return true
		}
		s = after
	}
}

// signedToken finds a JSON Web Token (RFC 7519): two base64url texts that begin
// as JSON objects do, the first of which is one.
func signedToken(s string) bool {
	for {
		i := strings.Index(s, ".eyJ")
		if i < 0 {
			return false
		}
		begin := i
		for begin > 0 && isBase64URL(s[begin-1]) {
			begin--
		}
		header, body := s[begin:i], s[i+1:]
		end := 0
		for end < len(body) && isBase64URL(body[end]) {
			end++
		}
		if end < len(body) && body[end] == '.' && jsonHeader(header) {
			return true
		}
		s = body[end:]
	}
}

// jsonHeader reports whether text is base64url of a JSON object, optionally after a word and a
// hyphen.
func jsonHeader(text string) bool {
	const longest = 4096 // a header names an algorithm and a key
	if len(text) > longest {
		return false
	}
	for range 4 {
		i := strings.Index(text, "eyJ")
		if i < 0 {
			return false
		}
		text = text[i:]
		decoded, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil && jsontext.Value(decoded).IsValid() {
			return true
		}
		text = text[len("eyJ"):]
	}
	return false
}

func isBase64URL(c byte) bool { return isAlphanumeric(c) || c == '-' || c == '_' }

// passwordInAddress finds scheme://user:password@host. A name in braces or angle brackets is a
// placeholder for a password.
func passwordInAddress(s string) bool {
	for {
		before, after, ok := strings.Cut(s, "://")
		if !ok {
			return false
		}
		s = after
		if before == "" || !isAlphanumeric(before[len(before)-1]) {
			continue
		}
		user := strings.IndexAny(after, " \t\r\n/:@{}<>")
		if user < 0 || after[user] != ':' {
			continue
		}
		password := strings.IndexAny(after[user+1:], " \t\r\n/@{}<>")
		at := user + 1 + password
		if password > 0 && after[at] == '@' && at+1 < len(after) && strings.IndexByte(" \t\r\n/", after[at+1]) < 0 {
			return true
		}
	}
}
