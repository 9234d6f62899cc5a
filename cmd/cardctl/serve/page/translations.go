package page

import (
	"embed"
	"encoding/json"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
)

// translations are the texts of the pages and commands in Chinese.
//
//go:embed translations/*.json
var translations embed.FS

// chinese has the texts of the pages in Chinese. Arguments keep their order. Rules, resources
// and the names of Kubernetes objects stay as they are.
var chinese = func() map[string]string {
	all := readTranslations[map[string]string]("pages")
	for _, r := range explain.Rules {
		all[r.Because.English] = r.Because.Chinese
	}
	return all
}()

// readPhrases reads a list of texts in English, each with its translation.
func readPhrases(name string) (phrases []phrase) {
	for _, p := range readTranslations[[][2]string](name) {
		phrases = append(phrases, phrase{english: p[0], chinese: p[1]})
	}
	return phrases
}

func readTranslations[T any](name string) (texts T) {
	content, err := translations.ReadFile("translations/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(content, &texts)
	}
	if err != nil {
		panic(err) // the file is embedded
	}
	return texts
}
