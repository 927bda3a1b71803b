import BLEDefinitions

#if Web
    import BLE

    /// A metric in the text format of Prometheus. Its name is that of Docs/Observability.md, with underscores.
    ///
    /// No label contains an address, a name or a UUID.
    struct PrometheusMetric: Sendable {
        enum Kind: String {
            case counter, gauge
        }

        let name: String
        let kind: Kind
        let help: String
        /// The values, by their labels.
        var samples: [(labels: [(name: String, value: String)], value: Double)]

        init(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
            (self.name, self.kind, self.help, samples) = (name, kind, help, [([], value)])
        }

        /// Creates a counter for each reason.
        private init(_ name: String, _ help: String, _ counts: [DisconnectReason: Int]) {
            (self.name, kind, self.help) = (name, .counter, help)
            samples = counts.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { ([("reason", $0.key.rawValue)], Double($0.value)) }
        }

        /// Creates a counter for each kind of operation and its error. An error is `none` for those that succeeded.
        private init(
            _ name: String, _ help: String, _ statistics: CentralStatistics,
            _ values: (OperationStatistics) -> [(error: String?, value: Double)]
        ) {
            (self.name, kind, self.help) = (name, .counter, help)
            samples = OperationKind.allCases.filter { statistics[$0].count > 0 }.flatMap { kind in
                values(statistics[kind]).map { sample in
                    ([("operation", kind.rawValue)] + (sample.error.map { [("error", $0)] } ?? []), sample.value)
                }
            }
        }

        /// Returns the metrics of a central.
        static func all(of statistics: CentralStatistics) -> [PrometheusMetric] {
            let central = "ble_central"
            return [
                PrometheusMetric(
                    "\(central)_advertisements_total", .counter, "Advertisements that were received",
                    Double(statistics.advertisementCount)),
                PrometheusMetric(
                    "\(central)_links_total", .counter, "Links that were established", Double(statistics.linkCount)),
                PrometheusMetric(
                    "\(central)_connected", .gauge, "Links that are up", Double(statistics.connectedCount)),
                PrometheusMetric(
                    "\(central)_links_ended_total", "Links that have ended, by reason", statistics.linkEndCounts),
                PrometheusMetric(
                    "\(central)_reconnects_total", "Maintained links that were made again, by the reason of the loss",
                    statistics.reconnectCounts),
                PrometheusMetric(
                    "\(central)_values_dropped_total", .counter, "Values that readers of notifications missed",
                    Double(statistics.droppedValueCount)),
                PrometheusMetric(
                    "\(central)_discoveries_dropped_total", .counter, "Events that readers of scans missed",
                    Double(statistics.droppedDiscoveryCount)),
                PrometheusMetric(
                    "\(central)_bluetooth_losses_total", .counter, "Times that Bluetooth has stopped",
                    Double(statistics.bluetoothLossCount)),
                PrometheusMetric("\(central)_operations_total", "Operations that have ended", statistics) {
                    operations in
                    [("none", Double(operations.successCount))]
                        + operations.failureCounts.sorted { $0.key.rawValue < $1.key.rawValue }
                        .map { ($0.key.rawValue, Double($0.value)) }
                },
                PrometheusMetric("\(central)_operation_seconds_total", "The sum of their durations", statistics) {
                    [(nil, $0.totalDuration / .seconds(1))]
                },
            ]
        }

        /// Returns metrics as text, without those that have no value yet.
        static func text(_ metrics: [PrometheusMetric]) -> String {
            metrics.filter { !$0.samples.isEmpty }.map(\.text).joined()
        }

        private var text: String {
            "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
                + samples.map { "\(name)\(Self.text($0.labels)) \(Self.text($0.value))\n" }.joined()
        }

        private static func text(_ labels: [(name: String, value: String)]) -> String {
            guard !labels.isEmpty else { return "" }
            return "{" + labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",") + "}"
        }

        private static func escaped(_ value: String) -> String {
            value.reduce(into: "") { text, character in
                switch character {
                case "\\": text += "\\\\"
                case "\"": text += "\\\""
                case "\n": text += "\\n"
                default: text.append(character)
                }
            }
        }

        private static func text(_ value: Double) -> String { JSON.double(value).text }
    }
#endif
