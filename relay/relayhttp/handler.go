package relayhttp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/httpsig"
	"gazetteer/relay"
)

// Options are what [New] needs. Relay is required.
type Options struct {
	Relay *relay.Relay
	// PublicURL is where clients reach the server: behind a proxy it tells the scheme that they signed.
	PublicURL string
	// Client returns the address of the client of a request; that of the connection when nil.
	Client func(r *http.Request) netip.Addr
	// OpenDeployed lets anyone pull, stream and acknowledge by the routes of the reference without a
	// signature, as the reference does. Anyone who knows an AIR ID can then read its mail.
	OpenDeployed bool
	Limits       *limit.Set
	// StreamWriteTime is how long a write to a stream may take before the client is cut off; 20
	// seconds when 0.
	StreamWriteTime time.Duration
	Log             *slog.Logger
	Now             func() time.Time
}

// A Handler serves the routes of the relay.
type Handler struct {
	Options
	mux          *http.ServeMux
	public       *url.URL
	waits        *limit.Slots // long polls
	streams      *limit.Slots
	ending       context.Context // ends streams and long polls
	endRequested context.CancelFunc
}

// Kinds of answers that wait, which name their limits.
const (
	PollKind   = "relay-polls"
	StreamKind = "relay-streams"
)

// MaxAckBytes bounds the body of an acknowledgement.
const MaxAckBytes = 64 << 10

// Limits of one request.
const (
	maxWait       = 25 * time.Second
	bodyTime      = 10 * time.Second
	maxStreams    = 10_000
	maxStreamsOne = 64 // of one network
	// fairStreams is the part of all that one network may hold, which is more than maxStreamsOne: it
	// keeps the wider networks around it, of which many agents may share one, from holding all.
	fairStreams = 8
	defaultPage = 50
)

// New returns a handler. [Handler.End] ends its streams before the server shuts down.
func New(o Options) (*Handler, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	o.StreamWriteTime = cmp.Or(o.StreamWriteTime, writeTime)
	if o.Client == nil {
		o.Client = connectionAddress
	}
	public, err := url.Parse(o.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("relay: the public URL: %w", err)
	}
	h := &Handler{
		Options: o, mux: http.NewServeMux(), public: public,
		waits:   o.Limits.Slots(limit.SlotRule{Name: PollKind, All: maxStreams, Each: maxStreamsOne, Fair: fairStreams, Retry: 5 * time.Second}),
		streams: o.Limits.Slots(limit.SlotRule{Name: StreamKind, All: maxStreams, Each: maxStreamsOne, Fair: fairStreams, Retry: 30 * time.Second}),
	}
	h.ending, h.endRequested = context.WithCancel(context.Background())
	draft, deployed := dialect{draft: true}, dialect{}
	h.mux.HandleFunc("GET /inbox/{inbox}/rules", h.getRules)
	h.mux.HandleFunc("PUT /inbox/{inbox}/rules", h.setRules)
	h.mux.HandleFunc("POST /inbox/{inbox}", h.pushEnvelope)
	h.mux.HandleFunc("GET /inbox/{inbox}/pull", func(w http.ResponseWriter, r *http.Request) { h.pullMail(w, r, draft) })
	h.mux.HandleFunc("GET /inbox/{inbox}/stream", func(w http.ResponseWriter, r *http.Request) { h.streamMail(w, r, draft) })
	h.mux.HandleFunc("POST /inbox/{inbox}/ack", func(w http.ResponseWriter, r *http.Request) { h.acknowledgeMail(w, r, draft) })
	h.mux.HandleFunc("GET /pull/{inbox}", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("stream") == "1" || strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			h.streamMail(w, r, deployed)
			return
		}
		h.pullMail(w, r, deployed)
	})
	h.mux.HandleFunc("POST /ack/{inbox}", func(w http.ResponseWriter, r *http.Request) { h.acknowledgeMail(w, r, deployed) })
	return h, nil
}

// End ends streams and long polls. The handler then answers all remaining requests at once.
func (h *Handler) End() { h.endRequested() }

// PreflightHeaders are the header fields that a page of another origin may send with a request.
const PreflightHeaders = "Content-Type, Content-Digest, Last-Event-ID, Signature, Signature-Input, " + a2ahttp.VersionHeader

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set(a2ahttp.VersionHeader, a2ahttp.Version)
	if r.Method == http.MethodOptions {
		header.Set("Access-Control-Allow-Methods", "GET, POST, PUT, OPTIONS")
		header.Set("Access-Control-Allow-Headers", PreflightHeaders)
		header.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// pushEnvelope is POST /inbox/{inbox}.
func (h *Handler) pushEnvelope(w http.ResponseWriter, r *http.Request) {
	d := dialect{draft: r.Header.Get(a2ahttp.VersionHeader) != ""}
	text, err := readBody(w, r, "Envelope", a2a.MaxEnvelope)
	if err == nil && len(text) == 0 {
		err = refuseRequest("empty_body", "Envelope body is empty")
	}
	if err == nil && !d.draft {
		err = checkDeployed(text)
	}
	var accepted relay.Accepted
	if err != nil {
		h.Relay.CountRefusal(err)
	} else {
		accepted, err = h.Relay.Accept(r.Context(), r.PathValue("inbox"), text, h.Client(r))
	}
	if err != nil {
		d.writeError(w, accepted, err)
		return
	}
	writeJSON(w, http.StatusAccepted, struct {
		Status  string          `json:"status"`
		ID      string          `json:"envelope_id"`
		Number  uint64          `json:"seq"`
		Receipt json.RawMessage `json:"receipt"`
	}{"queued", accepted.ID, accepted.Number, accepted.Receipt})
}

// readBody reads a body of at most so many bytes within bodyTime. The refusal of a larger one says
// what exceeds the limit. After a refused body the connection ends.
func readBody(w http.ResponseWriter, r *http.Request, what string, most int64) ([]byte, error) {
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(bodyTime)) // the server restores it for the next request
	refuse := func(status int, reason, code, detail string) ([]byte, error) {
		w.Header().Set("Connection", "close")
		e := &relay.Refusal{Status: status, Reason: reason, Code: code, Detail: detail}
		if status == http.StatusRequestEntityTooLarge {
			e.Most = int(most)
		}
		return nil, e
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return refuse(http.StatusUnsupportedMediaType, "Unsupported Media Type", "unsupported_encoding", "the body must not be compressed")
	}
	text, err := limit.ReadOrDrain(r, most)
	switch {
	case errors.Is(err, limit.ErrTooLarge):
		return refuse(http.StatusRequestEntityTooLarge, a2a.ErrorTooLarge, "payload_too_large", fmt.Sprintf("%s exceeds %d bytes", what, most))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse(http.StatusRequestTimeout, "Request Timeout", "body_timeout", "the body did not arrive in time")
	case err != nil:
		return refuse(http.StatusBadRequest, a2a.ErrorBadRequest, "bad_body", "the body was cut off or is not well formed")
	}
	return text, nil
}

// openInbox opens the inbox in the path for the owner that signed the request.
func (h *Handler) openInbox(r *http.Request, body []byte, d dialect) (*relay.Reader, error) {
	if h.OpenDeployed && !d.draft && r.Header.Get("Signature-Input") == "" {
		return h.Relay.ReadUnsigned(r.Context(), r.PathValue("inbox"))
	}
	m := httpsig.FromRequest(r, body)
	if h.public.Host != "" && strings.EqualFold(m.Authority, h.public.Host) {
		m.Scheme = h.public.Scheme
	}
	return h.Relay.Read(r.Context(), r.PathValue("inbox"), m)
}

// pullMail answers with a page of mail, after a wait if the client allows one (wait=25s or wait=25) and
// there is nothing yet.
func (h *Handler) pullMail(w http.ResponseWriter, r *http.Request, d dialect) {
	after, limit, wait, err := readPullQuery(r.URL.Query())
	var reader *relay.Reader
	if err == nil {
		reader, err = h.openInbox(r, nil, d)
	}
	var page relay.Page
	if err == nil {
		page, err = h.waitForMail(w, r, reader, after, limit, wait)
	}
	if err != nil {
		d.writeError(w, relay.Accepted{}, err)
		return
	}
	text, err := d.formatPage(reader.Inbox(), after, page)
	if err != nil {
		d.writeError(w, relay.Accepted{}, err)
		return
	}
	writeText(w, http.StatusOK, text)
}

func (h *Handler) waitForMail(w http.ResponseWriter, r *http.Request, reader *relay.Reader, after uint64, limit int, wait time.Duration) (relay.Page, error) {
	if wait == 0 {
		return reader.Pull(r.Context(), after, limit)
	}
	release, err := h.waits.Acquire(r.Context(), h.Client(r))
	if err != nil {
		return relay.Page{}, refuseSlots(err)
	}
	defer release()
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + 30*time.Second))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.ending, cancel)()
	page, err := reader.WaitAndPull(ctx, after, limit, wait)
	if err != nil && h.ending.Err() != nil && r.Context().Err() == nil {
		return relay.Page{}, nil // the server ends: nothing came
	}
	return page, err
}

func refuseSlots(err error) error {
	if e, ok := errors.AsType[*limit.ExceededError](err); ok {
		return &relay.Refusal{Status: http.StatusTooManyRequests, Reason: a2a.ErrorRateLimited, Code: "rate_limited", Detail: "too many requests wait for mail", Wait: e.Wait}
	}
	return err
}

// refuseRequest refuses a request that is not formed as it must be.
func refuseRequest(code, detail string) *relay.Refusal {
	return &relay.Refusal{Status: http.StatusBadRequest, Reason: a2a.ErrorBadRequest, Code: code, Detail: detail}
}

func readPullQuery(q url.Values) (after uint64, limit int, wait time.Duration, err error) {
	bad := func(name, want string) error {
		return refuseRequest("invalid_"+name, name+" must be "+want)
	}
	limit = defaultPage
	if text := q.Get("since"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 53); err != nil {
			return 0, 0, 0, bad("since", "a cursor that an earlier answer returned")
		}
	}
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			return 0, 0, 0, bad("limit", fmt.Sprintf("a number from 1 to %d", relay.MaxPage))
		}
	}
	if text := q.Get("wait"); text != "" {
		seconds, err := strconv.Atoi(strings.TrimSuffix(text, "s"))
		if err != nil || seconds < 0 {
			return 0, 0, 0, bad("wait", "a number of seconds")
		}
		wait = time.Duration(min(seconds, int(maxWait/time.Second))) * time.Second
	}
	return after, min(limit, relay.MaxPage), wait, nil
}

// acknowledgeMail deletes mail that the recipient has processed.
func (h *Handler) acknowledgeMail(w http.ResponseWriter, r *http.Request, d dialect) {
	body, err := readBody(w, r, "Acknowledgement", MaxAckBytes)
	var ids []string
	if err == nil {
		ids, err = readIDs(body)
	}
	var reader *relay.Reader
	if err == nil {
		reader, err = h.openInbox(r, body, d)
	}
	acknowledged := 0
	if err == nil {
		acknowledged, err = reader.Acknowledge(r.Context(), ids)
	}
	if err != nil {
		d.writeError(w, relay.Accepted{}, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Status       string `json:"status"`
		Acknowledged int    `json:"acked_count"`
		Requested    int    `json:"requested"`
	}{"acked", acknowledged, len(ids)})
}

// readIDs reads {"envelope_ids": ["…"]}, with the codes of the reference.
func readIDs(body []byte) ([]string, error) {
	var in struct {
		IDs []any `json:"envelope_ids"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
			return nil, refuseRequest("missing_envelope_ids", "Body must include non-empty array `envelope_ids`")
		}
		return nil, refuseRequest("invalid_json", "Ack body must be JSON")
	}
	switch {
	case len(in.IDs) == 0:
		return nil, refuseRequest("missing_envelope_ids", "Body must include non-empty array `envelope_ids`")
	case len(in.IDs) > relay.MaxAcknowledge:
		return nil, refuseRequest("too_many_acks", fmt.Sprintf("Maximum %d envelope_ids per ack request", relay.MaxAcknowledge))
	}
	ids := make([]string, len(in.IDs))
	for i, id := range in.IDs {
		text, ok := id.(string)
		if !ok {
			return nil, refuseRequest("invalid_envelope_id_type", "All envelope_ids must be strings")
		}
		ids[i] = text
	}
	return ids, nil
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	writeText(w, status, append(text, '\n'))
}

func writeText(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text)
}

func connectionAddress(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}
