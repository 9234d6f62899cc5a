package access

import (
	"context"
	"crypto/tls"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// TLS returns the configuration of a server with the certificate and the key of two files. It
// reads the files again when they change, until ctx is done.
func TLS(ctx context.Context, certificate, key string) (*tls.Config, error) {
	files, err := dynamiccertificates.NewDynamicServingContentFromFiles("serve", certificate, key)
	if err != nil {
		return nil, err
	}

	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	current := dynamiccertificates.NewDynamicServingCertificateController(config, nil, files, nil, nil)
	files.AddListener(current)
	if err := current.RunOnce(); err != nil {
		return nil, err
	}

	go files.Run(ctx, 1)
	go current.Run(1, ctx.Done())

	config = config.Clone()
	config.GetConfigForClient = current.GetConfigForClient
	return config, nil
}
