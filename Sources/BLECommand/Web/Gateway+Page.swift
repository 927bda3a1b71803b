import BLEDefinitions

#if Gateway
    import BLE
    import Synchronization

    /// What the page and Prometheus show of a gateway.
    extension Gateway {
        /// The central. Nil until Bluetooth is available.
        var central: Central? { state.withLock { $0.central } }

        /// The devices that have been heard, with their values.
        var devices: JSON {
            let (table, now) = state.withLock { ($0.table, elapsed()) }
            return .object([
                "devices": .array(table.devices.keys.sorted().map { id in table.described(id, at: now) })
            ])
        }

        var metrics: [PrometheusMetric] {
            let (count, isConnected) = state.withLock { ($0.table.count, $0.connection == "connected") }
            return [
                PrometheusMetric(
                    "ble_gateway_devices", .gauge, "Listed devices that have been heard", Double(count)),
                PrometheusMetric(
                    "ble_gateway_broker_connected", .gauge, "Whether there is a connection to the broker",
                    isConnected ? 1 : 0),
            ]
        }
    }

    extension DeviceTable {
        fileprivate func described(_ id: String, at now: Duration) -> JSON {
            guard let device = devices[id] else { return .null }
            return .object([
                "id": .string(id), "entry": .string(device.entry.key), "name": .string(device.name),
                // That of a private device changes, and its name tells more.
                "address": device.entry.isPrivate ? .null : .string(device.peripheral.rawValue),
                "available": .bool(device.isAvailable), "connected": .bool(device.isConnected),
                "published": .bool(isPublished(id)), "rssi": .optional(device.rssi, JSON.int),
                "age": .double(((now - device.heard) / .seconds(1)).rounded()),
                "values": .object(
                    device.fields.mapValues { .object(["value": $0.value.json, "unit": .optional($0.unit)]) }),
            ])
        }
    }

    extension GatewayConfiguration {
        /// The peripherals to which the gateway keeps links.
        var linkedPeripherals: Set<Peripheral.ID> {
            Set(
                devices.compactMap { device in
                    guard device.hasLink, case .address(let id) = device.match else { return nil }
                    return id
                })
        }
    }
#endif
