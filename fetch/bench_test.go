package fetch

import "testing"

func BenchmarkRobots(b *testing.B) {
	text := []byte("User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\nSitemap: https://a.test/sitemap.xml\n")
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := parseRobots(text, RobotsToken).allowsPath("/.well-known/ai"); !ok {
			b.Fatal("not allowed")
		}
	}
}
