package auditlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gazetteer/fetch"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/proof"
	"gazetteer/registry/audit/tiles"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"
)

// logCommand returns the command that checks a transparency log from its files. It opens no data
// directory.
func (a *verbs) logCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "log",
		Short: "Check the transparency log of a registry",
		Args:  cli.RequireVerb,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.headCommand(), a.verifyCommand(), a.forgetCommand())
	return c
}

// A logSource is the place of a log, with the keys that verify it.
type logSource struct {
	place string // directory or URL
	files tiles.Files
	key   string // as given
	given bool   // the key came from the command line

	command *cobra.Command

	witnesses []string
}

func (s *logSource) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&s.key, "key", "", "public key of the log, or a file with it (default: the one next to the log)")
	s.command = c
	c.Flags().StringArrayVar(&s.witnesses, "witness", nil, "public key of a witness that must have cosigned, or a file with it; may be repeated")
}

func (a *verbs) headCommand() *cobra.Command {
	s := &logSource{}
	c := &cobra.Command{
		Use:   "head [DIR|URL]",
		Short: "Show the newest signed checkpoint of a log",
		Long: `Head shows the newest checkpoint of a log and checks its signature. The log is
a directory, or the URL below which a server has it; without either it is that
of the data directory, or of --server.

  gazetteer log head
  gazetteer log head https://registry.example/log --key registry.example/log+…

Exit code 1 when the checkpoint is missing or the signature is invalid.`,
		Args: cli.MaxArgs(1, "one log"),
		RunE: func(c *cobra.Command, args []string) error { return a.printHead(c.Context(), s, args) },
	}
	s.addFlags(c)
	return c
}

func (a *verbs) verifyCommand() *cobra.Command {
	s := &logSource{}
	var older []string
	var leaf string
	c := &cobra.Command{
		Use:   "verify [DIR|URL|PROOF]",
		Short: "Check every leaf and every hash of a log against its signed checkpoint",
		Long: `Verify reads a whole log, from files alone or from a server, and checks that the
checkpoint is signed, that every leaf and every hash leads to it, that no leaf
was removed, and that it contains the older checkpoints that you have kept. The
first file that is wrong is named. Given a proof (C2SP tlog-proof) and its leaf,
it checks that the leaf is in the tree that was signed.

  gazetteer log verify data/log
  gazetteer log verify https://registry.example/log --older kept.checkpoint
  gazetteer log verify agent.tlog-proof --leaf agent.leaf --key registry.key

Exit code 1 when something does not hold, 3 when the server cannot be reached.`,
		Args: cli.MaxArgs(1, "one log"),
		RunE: func(c *cobra.Command, args []string) error {
			if leaf != "" {
				return a.verifyProof(s, args, leaf)
			}
			return a.verifyLog(c.Context(), s, args, older)
		},
	}
	s.addFlags(c)
	c.Flags().StringArrayVar(&older, "older", nil, "file with an older checkpoint that the log must contain; may be repeated")
	c.Flags().StringVar(&leaf, "leaf", "", "file with the leaf that a proof is for")
	return c
}

// openLog opens the log that the arguments name.
func (s *logSource) openLog(ctx context.Context, a *verbs, args []string) error {
	switch {
	case len(args) == 1:
		s.place = args[0]
	case a.Server != "":
		s.place = strings.TrimSuffix(a.Server, "/") + "/log"
	default:
		config, err := a.Config()
		if err != nil {
			return err
		}
		s.place = filepath.Join(config.DataDir, "log")
		if !cli.FileExists(s.place) {
			base, answers := a.FindConfiguredServer(ctx, config)
			if !answers {
				return cli.NoDataError(config, cli.Read)
			}
			s.place = base + "/log"
		}
	}
	if !s.isRemote() {
		info, err := os.Stat(s.place)
		switch {
		case err != nil:
			return exit.NotFoundf("there is no log at %s: name a directory with one, a URL, or --server", s.place)
		case !info.IsDir():
			return exit.Usagef("%s is a file: name the directory of a log; a proof needs --leaf too", s.place)
		}
		s.files = audit.FilesIn(s.place)
		return nil
	}
	u, err := url.Parse(s.place)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return exit.Usagef("%s: want the address of a log, such as https://registry.example/log", s.place)
	}
	s.files = tiles.Remote(&http.Client{Timeout: a.Timeout, Transport: fetch.DefaultHTTP1()}, s.place)
	return nil
}

// serverBase returns the address of the registry that serves the log; false for a log that is read
// from files.
func (s *logSource) serverBase() (string, bool) {
	base, found := strings.CutSuffix(s.place, "/log")
	return base, found && s.isRemote()
}

// isRemote reports whether the log is read from a server.
func (s *logSource) isRemote() bool { return strings.Contains(s.place, "://") }

// checkRemote refuses a server that has another text in place of the signed checkpoint of a log.
func (s *logSource) checkRemote(signed []byte) error {
	if !s.isRemote() || cli.IsSigned(signed) {
		return nil
	}
	return exit.Networkf("there is no log at %s: its file \"checkpoint\" is not signed, %s", format.Visible(s.place), cli.DescribeBody(signed))
}

// orEmpty returns the checkpoint of a head that may be nil.
func orEmpty(head *cli.LogHead) string {
	if head == nil {
		return ""
	}
	return head.Checkpoint
}

func (a *verbs) forgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget URL",
		Short: "Forget the last seen tree head of a log",
		Long: `Forget deletes the newest tree head and the key that were seen of the log at a URL,
so that the next use begins anew. Do this only if you know why the log shows
another history than before, for example because its operator has begun another.

  gazetteer log forget https://registry.example/log

Exit code 1 when nothing was stored.`,
		Args: cli.ExactArgs(1, "the address of a log"),
		RunE: func(_ *cobra.Command, args []string) error {
			log := strings.TrimSuffix(args[0], "/")
			found, err := cli.ForgetLogHead(log)
			if err == nil && !found {
				err = exit.NotFoundf("no tree head of %s is stored", log)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "forgotten  %s\n", format.Visible(log))
			return err
		},
	}
}

// readVerifier returns the log's key: the key of the flag, or the key next to the log. An empty key, as
// of a script whose variable is not set, is refused: the key next to the log proves less.
func (s *logSource) readVerifier(ctx context.Context) (note.Verifier, error) {
	if s.given = s.command.Flags().Changed("key"); s.given {
		return parseVerifier("--key", s.key)
	}
	text, err := s.files(ctx, "key")
	if errors.Is(err, tiles.ErrRemote) {
		return nil, classifyError(err)
	}
	if errors.Is(err, tiles.ErrNoFile) && s.isRemote() {
		return nil, exit.Networkf("there is no log at %s: the server there has no file \"key\"; the address of a log usually ends in /log, and --key gives the key of a log that shows none", format.Visible(s.place))
	}
	if err != nil && s.isRemote() {
		return nil, exit.Networkf("there is no log at %s: %w", format.Visible(s.place), err)
	}
	if err != nil {
		return nil, classifyError(fmt.Errorf("the log's public key: %w; the address of a log usually ends in /log; --key gives the key", err))
	}
	s.key = strings.TrimSpace(string(text))
	v, err := checkpoint.NewVerifier(s.key)
	switch {
	case err != nil && s.isRemote():
		return nil, exit.Networkf("there is no log at %s: its file \"key\" is no public key, %s", format.Visible(s.place), cli.DescribeBody(text))
	case err != nil:
		return nil, exit.NotFoundf("the key next to the log: %v", err)
	}
	return v, nil
}

// parseVerifier reads a public key, or the file that contains it.
func parseVerifier(flag, text string) (note.Verifier, error) {
	content, noFile := os.ReadFile(text)
	if noFile != nil {
		content = []byte(text)
	}
	v, err := checkpoint.NewVerifier(strings.TrimSpace(string(content)))
	switch {
	case err != nil && noFile == nil: // its text can be that of a private key
		return nil, exit.Usagef("%s: the file %s does not have the public key of a log or a witness, which is name+hash+base64", flag, format.Visible(text))
	case err != nil:
		return nil, exit.Usagef("%s: %v", flag, err)
	}
	return v, nil
}

// classifyError adds the exit code to an error of a log's files.
func classifyError(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, tiles.ErrRemote):
		return exit.Networkf("%w", err)
	default:
		return exit.NotFoundf("%w", err)
	}
}

// A logAnswer is the output of the commands for a log.
type logAnswer struct {
	Origin    string         `json:"origin"`
	Size      int64          `json:"size"`
	Root      string         `json:"root"`
	Key       string         `json:"key"`
	KeyGiven  bool           `json:"key_given"`
	Cosigned  []cosignedView `json:"cosigned,omitempty"`
	Verified  *verifiedView  `json:"verified,omitempty"`
	ProvesKey string         `json:"record,omitempty"`
	LeafIndex *int64         `json:"leaf_index,omitempty"`
}

type cosignedView struct {
	Witness string    `json:"witness"`
	At      time.Time `json:"at"`
}

// verifiedView lists the checks besides the signature.
type verifiedView struct {
	Erased int64 `json:"erased_leaves"`
	// Undeclared is how many of them no leaf declares yet.
	Undeclared int64 `json:"undeclared_leaves,omitempty"`
	Older      int   `json:"older_checkpoints"`
}

// checkCosignatures describes a signed checkpoint, and checks the requested cosignatures.
func (s *logSource) checkCosignatures(c checkpoint.Checkpoint, signed []byte) (logAnswer, error) {
	answer := logAnswer{Origin: c.Origin, Size: c.N, Root: c.Hash.String(), Key: s.key, KeyGiven: s.given}
	for _, text := range s.witnesses {
		witness, err := parseVerifier("--witness", text)
		if err != nil {
			return answer, err
		}
		at, err := checkpoint.CheckCosignature(signed, witness)
		if err != nil {
			return answer, exit.NotFoundf("%v", err)
		}
		answer.Cosigned = append(answer.Cosigned, cosignedView{witness.Name(), at})
	}
	return answer, nil
}

func (a *verbs) printHead(ctx context.Context, s *logSource, args []string) error {
	if err := s.openLog(ctx, a, args); err != nil {
		return err
	}
	verifier, err := s.readVerifier(ctx)
	if err != nil {
		return err
	}
	signed, err := s.files(ctx, "checkpoint")
	if err != nil {
		return classifyError(err)
	}
	if err := s.checkRemote(signed); err != nil {
		return err
	}
	c, err := checkpoint.Parse(signed, verifier)
	if err != nil {
		return classifyError(err)
	}
	answer, err := s.checkCosignatures(c, signed)
	if err != nil {
		return err
	}
	if base, remote := s.serverBase(); remote {
		if _, err := a.CheckLog(ctx, &cli.Client{HTTP: &http.Client{Timeout: a.Timeout, Transport: fetch.DefaultHTTP1()}, Base: base}); err != nil {
			return err
		}
	}
	return a.printAnswer(answer, "signed; the leaves were not looked at (gazetteer log verify does)")
}

func (a *verbs) verifyLog(ctx context.Context, s *logSource, args, older []string) error {
	if err := s.openLog(ctx, a, args); err != nil {
		return err
	}
	var checkpoints [][]byte
	for _, name := range older {
		text, err := os.ReadFile(name)
		if err != nil {
			return exit.Usagef("--older: %w", err)
		}
		checkpoints = append(checkpoints, text)
	}
	verifier, err := s.readVerifier(ctx)
	if err != nil {
		return err
	}
	if _, remote := s.serverBase(); remote {
		head, err := cli.ReadLogHead(s.place)
		if err != nil {
			return err
		}
		_, foreign := checkpoint.Parse([]byte(orEmpty(head)), verifier)
		if head != nil && (foreign == nil || !cli.IsLoopbackURL(s.place)) {
			checkpoints = append(checkpoints, []byte(head.Checkpoint))
		}
	}
	if s.given { // the key of the user says nothing about what is there
		signed, err := s.files(ctx, "checkpoint")
		if err != nil {
			return classifyError(err)
		}
		if err := s.checkRemote(signed); err != nil {
			return err
		}
	}
	var r tiles.Report
	if s.isRemote() {
		r, err = tiles.Verify(ctx, s.files, verifier, checkpoints...)
	} else {
		r, err = audit.VerifyDir(ctx, s.place, nil, verifier, checkpoints...)
	}
	if err != nil {
		if _, undeclared := errors.AsType[*tiles.UndeclaredError](err); undeclared {
			return classifyError(fmt.Errorf("%s is not verified: %w", s.place, err))
		}
		return classifyError(fmt.Errorf("%s is invalid: %w", s.place, err))
	}
	answer, err := s.checkCosignatures(r.Checkpoint, r.Signed)
	if err != nil {
		return err
	}
	answer.Verified = &verifiedView{Erased: r.Erased, Undeclared: r.Undeclared, Older: r.Older}
	text := fmt.Sprintf("valid: signature, every leaf, every hash; %s erased, %s contained", cli.Plural(int(r.Erased), "leaf"), cli.Plural(int(r.Older), "older checkpoint"))
	if r.Undeclared > 0 {
		text += "; " + cli.DescribeUndeclared(r.Undeclared)
	}
	return a.printAnswer(answer, text)
}

// verifyProof checks a saved proof without access to its log.
func (a *verbs) verifyProof(s *logSource, args []string, leafFile string) error {
	if len(args) != 1 || s.key == "" {
		return exit.Usagef("a proof needs its file, its leaf and the log's key: gazetteer log verify PROOF --leaf FILE --key KEY")
	}
	s.given = true
	verifier, err := parseVerifier("--key", s.key)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return exit.Usagef("%w", err)
	}
	leaf, err := os.ReadFile(leafFile)
	if err != nil {
		return exit.Usagef("--leaf: %w", err)
	}
	p, c, err := proof.Check(text, leaf, verifier)
	if err != nil {
		return exit.NotFoundf("%s is invalid: %v", args[0], err)
	}
	answer, err := s.checkCosignatures(c, text[strings.Index(string(text), "\n\n")+2:])
	if err != nil {
		return err
	}
	var record struct {
		Key string `json:"key"`
	}
	json.Unmarshal(leaf, &record) // a file that is not our JSON contains no key
	answer.ProvesKey, answer.LeafIndex = record.Key, &p.Index
	return a.printAnswer(answer, fmt.Sprintf("valid: leaf %d is in the signed tree", p.Index))
}

// printAnswer writes an answer as text for a user, or as JSON.
func (a *verbs) printAnswer(answer logAnswer, verdict string) error {
	if a.JSON {
		text, err := json.MarshalIndent(answer, "", "  ")
		if err != nil {
			return err
		}
		return cli.WriteJSONText(a.Out, text)
	}
	line := func(name, value string) { fmt.Fprintf(a.Out, "%-9s %s\n", name, format.Visible(value)) }
	line("log", answer.Origin)
	line("leaves", fmt.Sprint(answer.Size))
	line("root", answer.Root)
	if answer.ProvesKey != "" {
		line("record", answer.ProvesKey)
	}
	for _, c := range answer.Cosigned {
		line("cosigned", c.Witness+" at "+c.At.Format(time.RFC3339))
	}
	line("verdict", verdict)
	if !answer.KeyGiven {
		line("key", answer.Key)
		fmt.Fprintln(a.Out, "\nThe key was next to the log. Compare it with a copy from another source, or\ngive that with --key: anyone who can change the log can change the key next to it.")
	}
	return nil
}
