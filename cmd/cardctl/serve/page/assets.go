package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed static
var static embed.FS

// hashes are the hashes of the assets, by name. They are part of the addresses, so that browsers
// keep assets for as long as they like.
var hashes = hash()

func hash() map[string]string {
	all := map[string]string{}
	entries, err := fs.ReadDir(static, "static")
	if err != nil {
		panic(err) // they are embedded
	}

	for _, entry := range entries {
		content, err := static.ReadFile("static/" + entry.Name())
		if err != nil {
			panic(err)
		}

		sum := sha256.Sum256(content)
		all[entry.Name()] = hex.EncodeToString(sum[:8])
	}
	return all
}

// assetPath returns the address of an asset.
func assetPath(name string) string { return "/assets/" + hashes[name] + "/" + name }

// Assets answers requests for assets.
func Assets() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/assets/"), "/")
		if hashes[name] == "" || hashes[name] != sum {
			http.NotFound(w, r)
			return
		}

		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		http.ServeFileFS(w, r, static, "static/"+name)
	})
}
