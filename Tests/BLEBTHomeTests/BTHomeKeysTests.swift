#if BTHomeEncryption
    import BLE
    import BLEBTHome
    import BLETestSupport
    import Testing

    /// A list of formats with the keys of devices.
    @Suite struct BTHomeKeysTests {
        private static let keys = [UInt8](0..<3).map { BTHomeKey([UInt8](repeating: $0, count: 16))! }
        private static let ids: [DeviceID] = [
            "54:48:E6:8F:80:A5", "54:48:E6:8F:80:A6", "54:48:E6:8F:80:A7",
        ].map { DeviceID(rawValue: $0) }
        private let formats = AdvertisementFormats([
            .bthome(keys: [Self.ids[0]: Self.keys[0], Self.ids[1]: Self.keys[1]]), .bthome,
        ])

        private func report(_ celsius: Double) throws -> BTHome {
            try BTHome([BTHomeObject(BTHomeKind(id: 0x02)!, value: celsius)], isTriggerBased: true)
        }

        /// What a sensor advertises.
        private func sealed(_ celsius: Double, by sensor: Int, counter: UInt32 = 200) throws -> Advertisement {
            try report(celsius).sealed(
                key: Self.keys[sensor], address: Hex.bytes(Self.ids[sensor].rawValue)!, counter: counter
            ).advertisement()
        }

        private func text(_ advertisement: Advertisement, _ sensor: Int) -> [String]? {
            formats.first(in: advertisement, from: Self.ids[sensor])?.readings.map(\.description)
        }

        @Test func `each device is decrypted with its own key`() throws {
            for sensor in 0...1 {
                let advertisement = try sealed(20.5 + Double(sensor), by: sensor)
                #expect(text(advertisement, sensor) == ["temperature \(20.5 + Double(sensor)) °C"])
                let value = formats.first(in: advertisement, from: Self.ids[sensor])?.value as? BTHome
                #expect(value?.objects?.map(\.value) == [20.5 + Double(sensor)])
                #expect(value?.isTriggerBased == true)
                #expect(formats.all(in: advertisement, from: Self.ids[sensor]).count == 1)
            }
            #expect(formats.formats.count == 1)
        }

        @Test func `a device without a key is decoded as ever, encrypted or not`() throws {
            let (plain, encrypted) = (try report(21).advertisement(), try sealed(21, by: 2))
            #expect(text(plain, 2) == ["temperature 21 °C"])
            #expect(text(encrypted, 2) == [])
            // The same holds if nobody says who has sent it.
            let known = formats.first(in: try sealed(21, by: 0))
            #expect(known?.readings == [])
        }

        @Test func `what the key does not authenticate is an error`() throws {
            func field(_ advertisement: Advertisement, _ sensor: Int) -> AdvertisementFormatError.Reason? {
                #expect(text(advertisement, sensor) == nil)
                return formats.errors(in: advertisement, from: Self.ids[sensor]).first?.reason
            }
            let (plain, foreign) = (try report(21).advertisement(), try sealed(21, by: 1))
            #expect(field(plain, 0) == .invalidValue(field: "encryption"))
            #expect(field(foreign, 0) == .invalidValue(field: "integrity check"))
            var changed = try sealed(21, by: 0)
            changed.serviceData[BluetoothUUID(0xFCD2)]![2] ^= 1
            #expect(field(changed, 0) == .invalidValue(field: "integrity check"))
            let nameless = AdvertisementFormats([.bthome(keys: ["sensor": Self.keys[0]])])
            let errors = nameless.errors(in: try sealed(21, by: 0), from: "sensor")
            #expect(errors.map(\.reason) == [.invalidValue(field: "address")])
        }

        @Test func `a report that was recorded is an error, and one that is repeated is not`() throws {
            let (old, new) = (try sealed(19, by: 0, counter: 300), try sealed(20, by: 0, counter: 301))
            #expect(text(old, 0) == ["temperature 19 °C"])
            for _ in 1...2 { #expect(text(new, 0) == ["temperature 20 °C"]) }
            #expect(text(old, 0) == nil)
            #expect(formats.errors(in: old, from: Self.ids[0]).map(\.reason) == [.invalidValue(field: "counter")])
            // Each device has its own counter.
            let other = try sealed(18, by: 1, counter: 200)
            #expect(text(other, 1) == ["temperature 18 °C"])
        }

        @Test func `a table of sensors and a discovery decrypt`() async throws {
            let world = try await SimulatedWorld()
            var table = SensorTable(formats: formats)
            for sensor in 0...1 {
                let found = Discovery(
                    peripheral: world.central.peripheral(Self.ids[sensor]),
                    advertisement: try sealed(20 + Double(sensor), by: sensor))
                #expect(found.known(formats)?.readings.map(\.description) == ["temperature \(20 + sensor) °C"])
                let isSensor = table.update(found)
                #expect(isSensor)
            }
            #expect(
                table.sensors.map { $0.readings.map(\.reading.description) } == [
                    ["temperature 20 °C"], ["temperature 21 °C"],
                ])
            await world.central.shutDown()
        }
    }
#endif
