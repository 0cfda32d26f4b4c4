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
