package web

import (
	"bytes"
	"compress/flate"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/limit"
	"gazetteer/lint"
	"gazetteer/lint/repair"
	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// validateView is the form, with the result after it was sent.
type validateView struct {
	Address, Text string // as sent
	As            string
	Level2        bool
	Kinds         []frame.Choice
	Samples       []sampleLink
	Repairs       []string // what was repaired in the text
	Tried         bool     // a repair was asked for
	Repairable    int      // findings of the text that can be repaired
	Share         string   // address that shows the same result, "" if the text is too long
	Submit        string   // host of a fetched, valid document, which can be added to the index
	Listed        string   // host of such a document that is in the index already
	// Trouble is the reason why nothing could be checked, Help the next step.
	Trouble, Help string
	Wrong         string // the ID of the field that the reader has to change, "" for none
	Results       []resultView
}

// sampleLink is a document to begin with.
type sampleLink struct{ Name, Title string }

//go:embed samples
var sampleFiles embed.FS

// samples are the documents that the form offers, by the names of their files.
var samples = []sampleLink{{"ai.json", "AI Discovery"}, {"agis.yaml", "AGIS"}, {"summary.json", "AGIS summary"}, {"broken.json", "a document with mistakes"}}

// maxForm is the size of the form in bytes: a text and the encoding that a browser adds.
const maxForm = api.MaxDocument + 64<<10

// validateFormPage shows the form. A link may bring an address, the name of a sample, or a text to
// check (see packText).
func (p *Pages) validateFormPage(c *gin.Context) (frame.WebPage, error) {
	v := validateView{Address: c.Query("url"), As: c.Query("as")}
	if name := c.Query("sample"); name != "" {
		text, err := sampleFiles.ReadFile("samples/" + path.Base(name))
		if err != nil {
			return frame.WebPage{}, frame.ErrNoPage
		}
		v.Text = string(text)
	}
	packed := c.Query("text")
	if packed == "" {
		return formView(http.StatusOK, v), nil
	}
	text, err := unpackText(packed)
	if err != nil {
		return frame.WebPage{}, frame.BadRequest("the link does not contain a text", "It may have been cut short. Ask for it again, or paste the text itself.")
	}
	v.Text = text
	return p.checkText(c, v, answer.ValidationRequest{Name: "Your text", Text: []byte(text), As: document.Kind(v.As), Client: frame.ClientOf(c)})
}

// maxPacked is the longest packed text in a link, short enough for servers and chats to pass on.
const maxPacked = 4000

// packText writes a text for a link: compressed, in base64url; "" if it is too long.
func packText(text string) string {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return ""
	}
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		return ""
	}
	if packed := base64.RawURLEncoding.EncodeToString(b.Bytes()); len(packed) <= maxPacked {
		return packed
	}
	return ""
}

// unpackText reads what packText wrote. The text has at most api.MaxDocument bytes.
func unpackText(packed string) (string, error) {
	if len(packed) > maxPacked {
		return "", errors.New("the link is too long")
	}
	compressed, err := base64.RawURLEncoding.DecodeString(packed)
	if err != nil {
		return "", err
	}
	text, err := limit.ReadAll(flate.NewReader(bytes.NewReader(compressed)), api.MaxDocument)
	return string(text), err
}

func formView(status int, v validateView) frame.WebPage {
	choices := []frame.Choice{{Value: "", Name: "Detect from the text"}}
	for _, kind := range document.AuthoritativeKinds() {
		choices = append(choices, frame.Choice{Value: string(kind), Name: kind.Describe()})
	}
	for _, k := range choices {
		k.Chosen = k.Value == v.As
		v.Kinds = append(v.Kinds, k)
	}
	v.Samples = samples
	title := "Check a document"
	if len(v.Results) > 0 {
		title = "Result of the check"
	}
	return frame.WebPage{Name: "validate", Title: title, Description: "Check an AI Discovery or AGIS document: what is wrong, where, and how to repair it.", Status: status, Body: v}
}

// validatePage checks the content of the form.
func (p *Pages) validatePage(c *gin.Context) (frame.WebPage, error) {
	v, s, err := readDocument(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	if c.PostForm("action") == "fix" && s.Text != nil {
		v.Tried = true
		s.Text, v.Repairs = repairText(s)
		v.Text = string(s.Text)
		if len(v.Repairs) > 0 {
			s.Name = "The repaired text"
		}
	}
	if s.Text != nil && !v.Tried {
		_, repairs := repairText(s)
		v.Repairable = len(repairs)
	}
	return p.checkText(c, v, s)
}

// repairText makes the safe repairs of a text and describes them.
func repairText(s answer.ValidationRequest) (text []byte, repairs []string) {
	kind := s.As
	if kind == "" {
		kind = lint.KindOf(s.Name, s.Text)
	}
	fixed, made, err := repair.Fix(kind, s.Text)
	if err != nil && len(made) == 0 {
		return s.Text, nil
	}
	for _, r := range made {
		said := r.Finding.Code + ": " + r.Finding.Message
		if !slices.Contains(repairs, said) && len(repairs) < maxChecked {
			repairs = append(repairs, said)
		}
	}
	return fixed, repairs
}

// checkText checks a document and shows the result above the form, which keeps the text.
func (p *Pages) checkText(c *gin.Context, v validateView, s answer.ValidationRequest) (frame.WebPage, error) {
	results, err := p.answers.Validate(c.Request.Context(), s)
	if err != nil {
		return p.validateFormAgain(c, v, err)
	}
	for i, r := range results {
		result := resultOf(i+1, r)
		if v.Tried && len(r.Findings) == 0 {
			result.Lines, result.Rest = nil, 0 // the form has the text
		}
		v.Results = append(v.Results, result)
	}
	switch {
	case len(results) == 0:
		v.Trouble, v.Help = "This host publishes neither an AI Discovery document nor an AGIS summary.", "They belong at /.well-known/ai and /.well-known/agis.json."
		v.Wrong = "url"
	case s.Text != nil:
		v.Text = string(s.Text)
		if packed := packText(v.Text); packed != "" && utf8.Valid(s.Text) {
			v.Share = "/validate?" + url.Values{"text": {packed}, "as": {v.As}}.Encode()
		}
	default:
		v.Share = "/validate?" + url.Values{"url": {v.Address}}.Encode()
		if err := p.offerIndex(c, &v, hostOfValid(results)); err != nil {
			return frame.WebPage{}, err
		}
	}
	return formView(http.StatusOK, v), nil
}

// offerIndex leads to the form that adds a host to the index, or to the page of a host that is there already.
func (p *Pages) offerIndex(c *gin.Context, v *validateView, host string) error {
	if host == "" {
		return nil
	}
	_, err := p.answers.Submission(c.Request.Context(), host)
	switch _, unusable := errors.AsType[*fetch.HostError](err); {
	case err == nil:
		v.Listed = host
	case errors.Is(err, answer.ErrNoService):
		v.Submit = host
	case !unusable: // an address without a name of a host cannot be added
		return err
	}
	return nil
}

// hostOfValid returns the host that served a valid document, "" if there is none.
func hostOfValid(results []answer.ValidationResult) string {
	for _, r := range results {
		if address, err := url.Parse(r.Input); err == nil && r.Valid {
			return address.Hostname()
		}
	}
	return ""
}

// validateFormAgain shows the form again with the reason, where the reader can do
// something about it.
func (p *Pages) validateFormAgain(c *gin.Context, v validateView, err error) (frame.WebPage, error) {
	status := http.StatusBadRequest
	var over *answer.QuotaError
	var host *fetch.HostError
	switch {
	case errors.Is(err, answer.ErrNothingToValidate):
		v.Trouble, v.Help = "There is nothing to check, or two things at once.", "Paste a text, choose a file, or give an address: one of the three."
		v.Wrong = "text"
	case errors.As(err, &host):
		v.Trouble, v.Help = "This is not the address of a public host: "+host.Problem+".", frame.AsSentence(host.Help)
		v.Wrong = "url"
	case errors.As(err, &over):
		status = http.StatusTooManyRequests
		c.Header("Retry-After", fmt.Sprint(int(over.Wait/time.Second)+1))
		v.Trouble, v.Help = frame.AsSentence(over.Message), "Paste the text instead, or try again later."
	case errors.Is(err, answer.ErrBusy):
		status = http.StatusServiceUnavailable
		c.Header("Retry-After", "5")
		v.Trouble, v.Help = "Too many documents are being fetched for others.", "Try again in a few seconds, or paste the text."
	case errors.Is(err, answer.ErrNoFetcher):
		status = http.StatusServiceUnavailable
		v.Trouble, v.Help = "Nothing is fetched on request here.", "Paste the text of the document instead."
	default:
		return frame.WebPage{}, err
	}
	return formView(status, v), nil
}

// readDocument reads the form of the validator, in memory only.
func readDocument(c *gin.Context) (validateView, answer.ValidationRequest, error) {
	r := c.Request
	fail := func(what, help string) (validateView, answer.ValidationRequest, error) {
		return validateView{}, answer.ValidationRequest{}, frame.BadRequest(what, help)
	}
	if err := frame.ReadForm(c, maxForm); err != nil {
		return validateView{}, answer.ValidationRequest{}, err
	}
	v := validateView{
		Address: strings.TrimSpace(r.PostFormValue("url")), As: r.PostFormValue("as"), Level2: r.PostFormValue("level") == "2",
		// A browser sends line ends as CRLF, whatever was pasted.
		Text: strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n"),
	}
	s := answer.ValidationRequest{Name: "Your text", Address: v.Address, As: document.Kind(v.As), Client: frame.ClientOf(c)}
	if v.Level2 {
		s.Level = 2
	}
	if strings.TrimSpace(v.Text) != "" {
		s.Text = []byte(v.Text)
	}
	name, file, err := uploadedFile(r.MultipartForm)
	if err != nil {
		return fail("the file cannot be read", "Choose it again.")
	}
	if file != nil {
		if s.Text != nil {
			return v, answer.ValidationRequest{}, nil // two at once, which the judge refuses
		}
		s.Name, s.Text = name, file
	}
	return v, s, nil
}

// uploadedFile returns the file of a form, nil when none was chosen.
func uploadedFile(form *multipart.Form) (name string, text []byte, err error) {
	if form == nil || len(form.File["file"]) == 0 || form.File["file"][0].Size == 0 {
		return "", nil, nil
	}
	header := form.File["file"][0]
	f, err := header.Open()
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	text, err = io.ReadAll(f)
	return header.Filename, text, err
}

// A resultView is the result for one document, and the document with its line numbers.
type resultView struct {
	ID       string // begins the anchors of its lines
	Input    string
	Kind     string
	Verdict  string
	Tone     string
	Counts   string
	Level    string
	Facts    string
	Findings []findingView
	More     int // kinds of findings that are not shown
	Savings  []aidiscovery.Saving
	Lines    []sourceLine
	Rest     int // lines that are not shown
}

// sourceLine is a line of a document with its findings.
type sourceLine struct {
	ID, Text, Tone string
	Number         int
	Notes          []lineNote
}

type lineNote struct {
	Code, Message, Tone string
	Column              int // in a line that is cut, 0 in others
}

const (
	maxChecked = 200  // findings of one document that its lines show
	maxLines   = 3000 // of its text
	maxSavings = 10
	maxNotes   = 5 // beside one line

	// maxWidth is the number of characters of a line that is shown whole. Of a longer one, its beginning and
	// the places of its findings are shown, in that many characters together.
	maxWidth = 560
)

// describeSize says what a checked text costs its readers. A text that cannot be parsed has no form
// without white space and no known operations.
func describeSize(j answer.ValidationResult) string {
	text := fmt.Sprintf("about %s tokens for a model", frame.FormatNumber(j.Tokens.Served))
	if j.Tokens.Compact > 0 && j.Tokens.Compact < j.Tokens.Served {
		text += fmt.Sprintf(", %s without white space", frame.FormatNumber(j.Tokens.Compact))
	}
	if j.Operations > 0 {
		text = frame.FormatCount(j.Operations, "operation") + ", " + text
	}
	return text
}

func resultOf(n int, j answer.ValidationResult) resultView {
	v := resultView{
		ID: fmt.Sprintf("d%d", n), Input: j.Input, Kind: frame.KindName(string(j.Kind)),
		Counts: countsOf(j.Findings), Savings: j.Savings[:min(len(j.Savings), maxSavings)],
	}
	v.Verdict, v.Tone = "Valid", "good"
	if !j.Valid {
		v.Verdict, v.Tone = "Not valid", "error"
	}
	if j.Kind.HasLevels() {
		v.Level = fmt.Sprintf("Level %d", j.Level)
	}
	if len(j.Text) > 0 {
		v.Facts = describeSize(j)
	}
	lines := strings.Split(strings.ToValidUTF8(string(j.Text), "�"), "\n")
	if len(j.Text) == 0 {
		lines = nil
	}
	tones, notes := map[int]string{}, map[int][]lineNote{}
	anchorOf := func(line int) string {
		if line > min(len(lines), maxLines) {
			return ""
		}
		return fmt.Sprintf("%s-L%d", v.ID, line)
	}
	for _, f := range j.Findings[:min(len(j.Findings), maxChecked)] {
		if f.Line > 0 && anchorOf(f.Line) != "" {
			tones[f.Line] = raiseTone(tones[f.Line], f.Severity)
			if len(notes[f.Line]) < maxNotes {
				notes[f.Line] = append(notes[f.Line], lineNote{f.Code, f.Message, f.Severity.String(), f.Column})
			}
		}
	}
	v.Findings, v.More = frame.SplitAt(groupFindings(j.Findings, anchorOf), maxFindings)
	for i, text := range lines[:min(len(lines), maxLines)] {
		v.Lines = append(v.Lines, sourceLine{anchorOf(i + 1), cutAroundNotes(strings.TrimSuffix(text, "\r"), notes[i+1]), tones[i+1], i + 1, notes[i+1]})
	}
	v.Rest = len(lines) - len(v.Lines)
	return v
}

// cutAroundNotes returns the beginning of a long line and the parts of it that its notes are about. In a line
// that is not cut, the notes need no column.
func cutAroundNotes(line string, notes []lineNote) string {
	if len(notes) == 0 {
		return line // the page shows its beginning
	}
	text := []rune(line)
	if len(text) <= maxWidth {
		for i := range notes {
			notes[i].Column = 0
		}
		return line
	}
	columns := []int{0}
	for _, n := range notes {
		columns = append(columns, min(max(n.Column-1, 0), len(text)))
	}
	slices.Sort(columns)
	part := maxWidth / len(columns)
	var b strings.Builder
	shown := 0 // up to there
	for _, at := range columns {
		begin, end := max(at-part/4, shown), min(at+part-part/4, len(text))
		if begin >= end {
			continue
		}
		if begin > shown {
			b.WriteString(" … ")
		}
		b.WriteString(string(text[begin:end]))
		shown = end
	}
	if shown < len(text) {
		b.WriteString(" …")
	}
	return b.String()
}

// raiseTone returns the tone of a line that has one and gets a finding more.
func raiseTone(tone string, s protocol.Severity) string {
	var had protocol.Severity
	if tone == "" || had.UnmarshalText([]byte(tone)) != nil || had < s {
		return s.String()
	}
	return tone
}
