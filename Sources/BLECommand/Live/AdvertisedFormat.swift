import BLE
import BLEBTHome
import BLEBeacons

/// A known format of advertising data, with its decoded content.
struct AdvertisedFormat {
    /// The company, or the service, whose data has the format.
    var company: UInt16?
    var service: BluetoothUUID?
    let name: String
    /// The content for people, with units.
    let text: String
    /// The content for programs.
    let json: @Sendable () throws -> JSON

    private init(_ name: String, _ value: some Encodable & Sendable, _ text: String) {
        self.name = name
        self.text = "\(name): \(text)"
        json = { try JSON(encoding: value) }
    }

    /// Returns the formats that an advertisement contains.
    static func all(in advertisement: Advertisement) -> [AdvertisedFormat] {
        var formats: [AdvertisedFormat] = []
        func add<Value: AdvertisementDecodable & Encodable & Sendable>(
            _ name: String, _ type: Value.Type, company: UInt16? = nil, service: UInt32? = nil,
            _ text: (Value) -> String = { "\($0)" }
        ) {
            guard let value = (try? type.decode(advertisement)).flatMap({ $0 }) else { return }
            var format = AdvertisedFormat(name, value, text(value))
            (format.company, format.service) = (company, service.map { BluetoothUUID($0) })
            formats.append(format)
        }
        add("iBeacon", IBeacon.self, company: 0x004C)
        add("RuuviTag", RuuviTag.self, company: 0x0499)
        add("Eddystone", Eddystone.self, service: 0xFEAA)
        add("BTHome", BTHome.self, service: 0xFCD2)
        return formats
    }

    /// Returns the formats for programs, by name.
    static func json(_ advertisement: Advertisement) throws -> [String: JSON] {
        Dictionary(uniqueKeysWithValues: try all(in: advertisement).map { ($0.name, try $0.json()) })
    }
}
