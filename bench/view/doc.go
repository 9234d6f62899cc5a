// Package view measures cardctl serve with many viewers of a large cluster. A simulated API server has the cluster of a
// shape, and changes a pod every second. The viewers follow it as browsers do. All code is test code:
//
//	make cardctl && go test ./bench/view -run TestViewers -v -viewers 200
package view
