package web

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// validateView is the form, and what was found when it was sent.
type validateView struct {
	Address, Text string // as sent
	As            string
	Level2        bool
	Kinds         []kindChoice
	// Trouble says why nothing was judged, Help what to do about it.
	Trouble, Help string
	Results       []resultView
}

type kindChoice struct {
	Value, Name string
	Chosen      bool
}

// maxForm is the size of a form: a text and what a browser puts around it.
const maxForm = api.MaxDocument + 64<<10

// validateFormPage shows the form. An address may come along, for links.
func (p *Pages) validateFormPage(c *gin.Context) (frame.View, error) {
	return formView(http.StatusOK, validateView{Address: c.Query("url")}), nil
}

func formView(status int, v validateView) frame.View {
	choices := []kindChoice{{Value: "", Name: "tell from the text"}}
	for _, kind := range document.AuthoritativeKinds() {
		choices = append(choices, kindChoice{Value: string(kind), Name: kind.Describe()})
	}
	for _, k := range choices {
		k.Chosen = k.Value == v.As
		v.Kinds = append(v.Kinds, k)
	}
	title := "Check a document"
	if len(v.Results) > 0 {
		title = "What was found"
	}
	return frame.View{Name: "validate", Title: title, Status: status, Body: v}
}

// validatePage judges what the form brings.
func (p *Pages) validatePage(c *gin.Context) (frame.View, error) {
	v, s, err := readDocument(c)
	if err != nil {
		return frame.View{}, err
	}
	judgements, err := p.answers.Validate(c.Request.Context(), s)
	if err != nil {
		return p.validateFormAgain(c, v, err)
	}
	for i, j := range judgements {
		v.Results = append(v.Results, resultOf(i+1, j))
	}
	if len(judgements) == 0 {
		v.Trouble, v.Help = "This host publishes neither an AI Discovery document nor an AGIS summary.", "They belong at /.well-known/ai and /.well-known/agis.json."
	}
	return formView(http.StatusOK, v), nil
}

// validateFormAgain shows the form again with the reason, where the reader can do
// something about it.
func (p *Pages) validateFormAgain(c *gin.Context, v validateView, err error) (frame.View, error) {
	status := http.StatusBadRequest
	var over *answer.QuotaError
	var host *fetch.HostError
	switch {
	case errors.Is(err, answer.ErrNothingToValidate):
		v.Trouble, v.Help = "There is nothing to check, or two things at once.", "Paste a text, choose a file, or give an address: one of the three."
	case errors.As(err, &host):
		v.Trouble, v.Help = "This is not the address of a public host: "+host.Problem+".", frame.AsSentence(host.Help)
	case errors.As(err, &over):
		status = http.StatusTooManyRequests
		c.Header("Retry-After", fmt.Sprint(int(over.Wait/time.Second)+1))
		v.Trouble, v.Help = frame.AsSentence(over.Message), "Paste the text instead, or come back later."
	case errors.Is(err, answer.ErrBusy):
		status = http.StatusServiceUnavailable
		c.Header("Retry-After", "5")
		v.Trouble, v.Help = "Too many documents are being fetched for others.", "Try again in a few seconds, or paste the text."
	case errors.Is(err, answer.ErrNoFetcher):
		status = http.StatusServiceUnavailable
		v.Trouble, v.Help = "Nothing is fetched on request here.", "Paste the text of the document instead."
	default:
		return frame.View{}, err
	}
	return formView(status, v), nil
}

// readDocument reads the form of the validator, in memory only.
func readDocument(c *gin.Context) (validateView, answer.ValidationRequest, error) {
	r := c.Request
	fail := func(what, help string) (validateView, answer.ValidationRequest, error) {
		return validateView{}, answer.ValidationRequest{}, &frame.BadRequest{What: what, Help: help}
	}
	if err := frame.ReadForm(c, maxForm); err != nil {
		return validateView{}, answer.ValidationRequest{}, err
	}
	v := validateView{
		Address: strings.TrimSpace(r.PostFormValue("url")), As: r.PostFormValue("as"), Level2: r.PostFormValue("level") == "2",
		// A browser sends line ends as CRLF, whatever was pasted.
		Text: strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n"),
	}
	s := answer.ValidationRequest{Name: "the text", Address: v.Address, As: document.Kind(v.As), Client: frame.ClientOf(c)}
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

// A resultView is what was found about one document, and the document with its
// line numbers.
type resultView struct {
	ID       string // begins the anchors of its lines
	Input    string
	Kind     string
	Verdict  string
	Tone     string
	Counts   string
	Level    string
	Facts    string
	Findings []checkedFinding
	More     int
	Savings  []aidiscovery.Saving
	Lines    []sourceLine
	Rest     int // lines that are not shown
}

type checkedFinding struct {
	protocol.Finding
	Word, Tone string
	Anchor     string // of its line, "" when that is not shown
}

type sourceLine struct {
	ID, Text, Tone string
}

const (
	maxChecked = 200  // findings of one document
	maxLines   = 3000 // of its text
	maxSavings = 10
)

func resultOf(n int, j answer.ValidationResult) resultView {
	v := resultView{
		ID: fmt.Sprintf("d%d", n), Input: j.Input, Kind: frame.KindName(string(j.Kind)),
		Counts: countsOf(j.Findings), Savings: j.Savings[:min(len(j.Savings), maxSavings)],
	}
	v.Verdict, v.Tone = "Valid", "good"
	if !j.Valid {
		v.Verdict, v.Tone = "Not valid", "error"
	}
	if j.Kind == document.AGIS {
		v.Level = fmt.Sprintf("Level %d", j.Level)
	}
	v.Facts = fmt.Sprintf("%s, about %s tokens for a model, %s without white space",
		frame.FormatCount(j.Operations, "operation"), frame.FormatNumber(j.Tokens.Served), frame.FormatNumber(j.Tokens.Compact))
	lines := strings.Split(strings.ToValidUTF8(string(j.Text), "�"), "\n")
	if len(j.Text) == 0 {
		lines = nil
	}
	tones := map[int]string{}
	for _, f := range j.Findings[:min(len(j.Findings), maxChecked)] {
		shown := checkedFinding{Finding: f, Word: severityWords[f.Severity], Tone: f.Severity.String()}
		if f.Line > 0 && f.Line <= min(len(lines), maxLines) {
			shown.Anchor = fmt.Sprintf("%s-L%d", v.ID, f.Line)
			tones[f.Line] = heavierTone(tones[f.Line], f.Severity)
		}
		v.Findings = append(v.Findings, shown)
	}
	v.More = len(j.Findings) - len(v.Findings)
	for i, text := range lines[:min(len(lines), maxLines)] {
		v.Lines = append(v.Lines, sourceLine{fmt.Sprintf("%s-L%d", v.ID, i+1), strings.TrimSuffix(text, "\r"), tones[i+1]})
	}
	v.Rest = len(lines) - len(v.Lines)
	return v
}

// heavierTone returns the tone of a line that has one and gets a finding more.
func heavierTone(tone string, s protocol.Severity) string {
	var had protocol.Severity
	if tone == "" || had.UnmarshalText([]byte(tone)) != nil || had < s {
		return s.String()
	}
	return tone
}
