// Package families asks a scheduler for metrics and profiles, and reads the metrics.
package families

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Open returns what an address answers, or an error if the status is not 200.
func Open(ctx context.Context, address string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}

	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		_ = response.Body.Close() // the status is the error
		return nil, fmt.Errorf("%s: %s: %s", address, response.Status, text)
	}
	return response.Body, nil
}

// Read reads metrics in the text format, and returns the families by name. It uses a decoder,
// because releases of Volcano need releases of the library with different constructors of the
// parser.
func Read(text io.Reader) (map[string]*dto.MetricFamily, error) {
	families := map[string]*dto.MetricFamily{}
	for decoder := expfmt.NewDecoder(text, expfmt.NewFormat(expfmt.TypeTextPlain)); ; {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			return families, nil
		} else if err != nil {
			return nil, err
		}

		families[family.GetName()] = &family
	}
}

// Label returns the value of a label, "" if the metric does not have it.
func Label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
