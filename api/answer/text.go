package answer

import (
	"encoding/json"
	"fmt"
	"gazetteer/store"
	"strings"
	"unicode/utf8"
)

// OrEmpty writes [] where nothing was found.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func IsControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// CleanText shortens an untrusted text and removes characters that are not text.
func CleanText(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most])
	}
	return text
}

// decodeRecord reads the JSON of a stored record.
func decodeRecord[T any](record store.Record) (T, error) {
	var v T
	if err := json.Unmarshal(record.Value, &v); err != nil {
		return v, fmt.Errorf("decode the record %s: %w", record.Key, err)
	}
	return v, nil
}

// IsPlainWord reports whether a word that a service chose, such as a verb, is short and has only A-Z, a-z,
// 0-9, "_", "." and "-": only such a word may stand in a text that models read as one of this server.
func IsPlainWord(word string) bool {
	return len(word) <= 60 && !strings.ContainsFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
	})
}
