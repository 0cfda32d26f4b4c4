package frame

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
)

//go:embed static/style.css static/icon.svg static/htmx.min.js static/site.js static/favicon.ico
var staticFiles embed.FS

// assets are the static files under names that contain their digest, so that a browser may
// keep them permanently and still sees every change.
type assets struct {
	hashed map[string]string // style.css → /static/style-3f2a….css
	files  map[string]asset  // by hashed name
}

type asset struct {
	body      []byte
	mediaType string
}

var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
	".js":  "text/javascript; charset=utf-8",
	".ico": "image/x-icon",
}

// readAssets names the embedded files. That they can be read is settled when
// the program is built.
func readAssets() assets {
	a := assets{hashed: map[string]string{}, files: map[string]asset{}}
	for _, file := range []string{"style.css", "icon.svg", "htmx.min.js", "site.js", "favicon.ico"} {
		body, err := staticFiles.ReadFile("static/" + file)
		if err != nil {
			panic(err)
		}
		ext := path.Ext(file)
		sum := sha256.Sum256(body)
		name := strings.TrimSuffix(file, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
		a.hashed[file] = "/static/" + name
		a.files[name] = asset{body: body, mediaType: mediaTypes[ext]}
	}
	return a
}

// addressOf returns the address of a static file, for templates.
func (a assets) addressOf(name string) (string, error) {
	p, ok := a.hashed[name]
	if !ok {
		return "", fmt.Errorf("no static file %q", name)
	}
	return p, nil
}

// RedirectToIcon leads from the address that browsers try to the icon.
func (f *Frame) RedirectToIcon(c *gin.Context) {
	c.Redirect(http.StatusFound, f.assets.hashed["favicon.ico"])
}

// ServeStatic serves the embedded file with the name in the address.
func (f *Frame) ServeStatic(c *gin.Context) {
	file, ok := f.assets.files[c.Param("name")]
	if !ok {
		f.NotFound(c)
		return
	}
	h := c.Writer.Header()
	setSecurityHeaders(h)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	c.Data(http.StatusOK, file.mediaType, file.body)
}
