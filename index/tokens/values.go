package tokens

import (
	"strings"
	"unicode"
)

// kindsOfFiles are the words for what a file has, by the ending of its name.
var kindsOfFiles = map[string]string{
	"pdf": "pdf document", "doc": "document file", "docx": "document file", "odt": "document file", "rtf": "document file", "txt": "text file", "md": "text file",
	"mp3": "audio", "wav": "audio", "m4a": "audio", "ogg": "audio", "flac": "audio", "aac": "audio", "mp4": "video", "mov": "video", "avi": "video", "mkv": "video", "webm": "video",
	"jpg": "image photo", "jpeg": "image photo", "png": "image photo", "gif": "image gif", "webp": "image photo", "heic": "image photo", "tif": "image scan", "tiff": "image scan",
	"svg": "image", "csv": "file csv", "xls": "spreadsheet file", "xlsx": "spreadsheet file", "pptx": "presentation file", "zip": "archive file", "ics": "calendar event",
	"html": "html page", "htm": "html page", "epub": "book file",
}

// KindOfValue returns the words for the kind of thing that a value is, "" if it does not tell: a file
// by its name, a page by its address.
func KindOfValue(field string) string {
	field = strings.TrimFunc(field, func(r rune) bool { return r != '/' && unicode.IsPunct(r) })
	if strings.HasPrefix(field, "http://") || strings.HasPrefix(field, "https://") {
		return "url page"
	}
	name, ending := "", ""
	if dot := strings.LastIndexByte(field, '.'); dot > 0 {
		name, ending = field[:dot], strings.ToLower(field[dot+1:])
	}
	if strings.Contains(name, "@") {
		return ""
	}
	return kindsOfFiles[ending]
}

// IsHost reports whether a word is the name of a host: acme.org. A word with a stop in its middle may be
// one, but no number, file or abbreviation is.
func IsHost(field string) bool {
	field = strings.TrimFunc(strings.ToLower(field), func(r rune) bool { return unicode.IsPunct(r) })
	name, ending, ok := strings.Cut(field, ".")
	if at := strings.LastIndexByte(ending, '.'); at >= 0 {
		ending = ending[at+1:]
	}
	return ok && len(name) > 2 && len(ending) > 1 && IsLetters(ending) && !strings.ContainsAny(field, "@/:()") && kindsOfFiles[ending] == "" &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// IsLetters reports whether a text has letters and nothing else.
func IsLetters(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}
