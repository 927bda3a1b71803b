#if DeviceCommands
    import BLE
    import BLEDefinitions
    import BLEProxy

    extension RadiosCommand {
        /// Lists the devices in the network that may be Bluetooth proxies.
        static func find(for duration: Duration, _ options: CommonOptions) async throws {
            let bus = options.bus
            guard let host = Session.host else {
                let output = Output(json: options.json)
                return try await Session.finish(output) { try await find(for: duration, bus, output) }
            }
            let output = options.json && !host.output.json ? Output(json: true) : host.output
            try await find(for: duration, bus, output)
        }

        private static func find(for duration: Duration, _ bus: String?, _ output: Output) async throws {
            let found = try await output.progress.during("Searching", limit: duration) {
                try await FoundProxy.search(for: duration, bus: bus, clock: CommandClock.current)
            }
            guard !found.isEmpty else { return output.note("no device was found") }
            let rows = found.map { proxy in
                [
                    proxy.name.harmless, proxy.address.harmless, "\(proxy.port)", proxy.mac ?? "-",
                    proxy.isEncrypted ? "yes" : "no", (proxy.version ?? "-").harmless,
                    (proxy.friendlyName ?? "").harmless,
                ]
            }
            let header = ["NAME", "ADDRESS", "PORT", "MAC", "KEY", "VERSION", "FRIENDLY NAME"]
            let widths = header.indices.map { column in
                // Nothing follows the last one.
                column == header.count - 1 ? 0 : min(40, ([header] + rows).map { $0[column].columns }.max() ?? 0)
            }
            func text(_ row: [String]) -> String {
                zip(row, widths).map { $0.padded(to: $1) }.joined(separator: "  ")
            }
            try output.text(output.paint(text(header), .bold))
            for (proxy, row) in zip(found, rows) {
                try output.line(
                    .object([
                        "kind": "proxy", "name": .string(proxy.name),
                        "friendlyName": .optional(proxy.friendlyName), "host": .string(proxy.host),
                        "address": .string(proxy.address), "port": .int(Int(proxy.port)),
                        "mac": .optional(proxy.mac), "firmware": .optional(proxy.version),
                        "project": .optional(proxy.project), "isEncrypted": .bool(proxy.isEncrypted),
                    ]),
                    text(row))
            }
        }
    }
#endif
