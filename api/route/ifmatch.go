package route

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// JSONETags returns the ETags of an answer in JSON, plain and compressed.
func JSONETags(v any) ([]string, error) {
	var b bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&b, v); err != nil {
		return nil, fmt.Errorf("write what is to be tagged: %w", err)
	}
	tag := `"` + digestTag(sha256.Sum256(b.Bytes()))
	return []string{tag + `"`, tag + gzipSuffix}, nil
}

// MatchesETag reports whether If-Match names one of the tags, or any with "*". The
// comparison is strong (RFC 9110 §13.1.1): a weak tag names no bytes.
func MatchesETag(header, tags []string) bool {
	for _, line := range header {
		for item := range strings.SplitSeq(line, ",") {
			item = strings.TrimSpace(item)
			for _, tag := range tags {
				if item == "*" || item == tag {
					return true
				}
			}
		}
	}
	return false
}
