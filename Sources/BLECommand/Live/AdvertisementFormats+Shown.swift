import BLE
import BLEBTHome
import BLEBeacons
import BLEDefinitions

extension AdvertisementFormats {
    /// The formats that the tool shows.
    static var shown: AdvertisementFormats { VendorFiles.current.formats }
}

extension KnownAdvertisement {
    /// The content for people, with units.
    var text: String {
        let text = (value as? [SensorReading])?.map(\.description).joined(separator: ", ") ?? "\(value)"
        return "\(format.name): \(text)"
    }

    /// Returns the content of all formats for programs, by the format's name.
    static func json(_ advertisement: Advertisement) throws -> [String: JSON] {
        var contents: [String: JSON] = [:]
        for known in AdvertisementFormats.shown.all(in: advertisement) where contents[known.format.name] == nil {
            if let readings = known.value as? [SensorReading] {
                contents[known.format.name] = .object(
                    Dictionary(readings.map { ($0.name, $0.value.json) }) { first, _ in first })
                continue
            }
            guard let value = known.value as? any Encodable else { continue }
            contents[known.format.name] = try JSON(encoding: value)
        }
        return contents
    }
}
