package aidiscovery

import (
	"strings"

	"golang.org/x/text/language"
)

// irregular holds the tags that RFC 5646 §2.1 lists one by one because they do not follow its
// grammar.
var irregular = map[string]bool{
	"en-gb-oed": true, "i-ami": true, "i-bnn": true, "i-default": true, "i-enochian": true, "i-hak": true,
	"i-klingon": true, "i-lux": true, "i-mingo": true, "i-navajo": true, "i-pwn": true, "i-tao": true,
	"i-tay": true, "i-tsu": true, "sgn-be-fr": true, "sgn-be-nl": true, "sgn-ch-de": true,
}

// WellFormedLanguage reports whether a tag follows the grammar of BCP 47 (RFC 5646 §2.1). It does
// not check whether the subtags are registered.
func WellFormedLanguage(tag string) bool {
	tag = strings.ToLower(tag)
	if irregular[tag] {
		return true
	}
	parts := strings.Split(tag, "-")
	for _, p := range parts {
		if len(p) < 1 || len(p) > 8 || !consistsOf(p, isAlphanumeric) {
			return false
		}
	}
	if parts[0] == "x" {
		return len(parts) > 1
	}
	if len(parts[0]) < 2 || !consistsOf(parts[0], isAlpha) {
		return false
	}
	rest := parts[1:]
	take := func(ok func(string) bool) bool {
		if len(rest) > 0 && ok(rest[0]) {
			rest = rest[1:]
			return true
		}
		return false
	}
	if len(parts[0]) <= 3 { // extended language subtags
		for range 3 {
			take(func(s string) bool { return len(s) == 3 && consistsOf(s, isAlpha) })
		}
	}
	take(func(s string) bool { return len(s) == 4 && consistsOf(s, isAlpha) }) // script
	take(func(s string) bool {                                                 // region
		return len(s) == 2 && consistsOf(s, isAlpha) || len(s) == 3 && consistsOf(s, isDigit)
	})
	for take(func(s string) bool { return len(s) >= 5 || len(s) == 4 && isDigit(s[0]) }) { // variants
	}
	for take(func(s string) bool { return len(s) == 1 && s != "x" }) { // extensions
		if !take(func(s string) bool { return len(s) >= 2 }) {
			return false
		}
		for take(func(s string) bool { return len(s) >= 2 }) {
		}
	}
	if take(func(s string) bool { return s == "x" }) { // private use
		return len(rest) > 0
	}
	return len(rest) == 0
}

// namesLanguage reports whether the language of a well-formed tag is registered (RFC 5646 §3.1.1), or
// the tag is for private use.
func namesLanguage(tag string) bool {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	if primary == "x" || primary == "i" {
		return true
	}
	_, err := language.ParseBase(primary)
	return err == nil
}

func consistsOf(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

func isAlpha(c byte) bool        { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool        { return c >= '0' && c <= '9' }
func isAlphanumeric(c byte) bool { return isAlpha(c) || isDigit(c) }
