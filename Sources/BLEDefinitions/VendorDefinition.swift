public import BLE
public import BLEAssignedNumbers

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// What a vendor's devices have of their own: names of services and characteristics, and layouts of data.
///
/// ```swift
/// let vendor = try VendorDefinition(json: Data(contentsOf: URL(filePath: "greenhouse.json")))
/// let formats = AdvertisementFormats([.beacons, vendor.formats])
/// for try await found in central.discoveries() {
///     print(found.peripheral, found.advertisement.known(formats)?.readings ?? [])
/// }
/// ```
///
/// The text is an object; every key is optional:
///
/// ```json
/// {
///   "companies": { "0b5e": "Green Things" },
///   "services": { "ff00": "Tank" },
///   "characteristics": {
///     "ff01": "Mode",
///     "ff02": { "name": "Level", "fields": { "distance": { "at": 0, "type": "u16", "factor": 0.1, "unit": "cm" } } }
///   },
///   "descriptors": { "ff0a": "Calibration" },
///   "formats": { "soil": { "company": "0b5e", "fields": { "temperature": { "at": 1, "type": "i16" } } } }
/// }
/// ```
///
/// Fields have the keys of the gateway's formats (`Docs/Gateway.md`), and `Docs/Vendor.schema.json` defines the
/// whole.
public struct VendorDefinition: Sendable {
    /// The names.
    public let catalog: Catalog
    /// The formats of advertising data.
    public let formats: AdvertisementFormats
    /// The layouts of values, by characteristic.
    public let values: [BluetoothUUID: DataLayout]

    package static let keys = ["$schema", "companies", "services", "characteristics", "descriptors", "formats"]

    /// Reads a vendor's definition. Throws ``DefinitionError`` for anything that the form does not allow, unknown keys
    /// included, and `CancellationError` if the task is cancelled while it reads a long text.
    public init(json: some Sequence<UInt8>) throws {
        let entry = try Entry(text: Data(json))
        let object = try entry.object(Self.keys)
        var numbers = try Self.entries(object["companies"]) { try Entry(.string($0), $1.place).company() }.map {
            AssignedNumber.company($0, try $1.label())
        }
        numbers += try Self.entries(object["services"], Self.uuid).map { .service($0, try $1.label()) }
        numbers += try Self.entries(object["descriptors"], Self.uuid).map { .descriptor($0, try $1.label()) }
        var values: [BluetoothUUID: DataLayout] = [:]
        for (uuid, entry) in try Self.entries(object["characteristics"], Self.uuid) {
            guard case .object = entry.json else {
                numbers.append(.characteristic(uuid, try entry.label()))
                continue
            }
            let layout = try DataLayout(entry, besides: ["name"])
            guard layout.source == nil else { throw entry.mistake("a characteristic has no company and no service") }
            values[uuid] = layout
            if case .object(let keys) = entry.json, let name = keys["name"] {
                numbers.append(.characteristic(uuid, try Entry(name, entry.place["name"]).label()))
            }
        }
        catalog = Catalog(numbers)
        self.values = values
        formats = AdvertisementFormats(
            try object["formats"]?.entries().map { name, entry in
                guard !name.isEmpty, name.utf8.count <= 200, name == name.harmless else {
                    throw entry.mistake("not a name of 1 to 200 bytes without control characters")
                }
                guard let format = try DataLayout(entry).advertisementFormat(named: name) else {
                    throw entry.mistake("a format of advertising data has a company or a service")
                }
                return format
            } ?? [])
    }

    /// Returns the entries of an object by what their keys mean. Different keys may mean the same: `ff01` and
    /// `0000ff01`.
    private static func entries<Key: Hashable>(
        _ object: Entry?, _ key: (String, Entry) throws -> Key
    ) throws -> [(Key, Entry)] {
        var known: Set<Key> = []
        return try object?.entries().map { text, entry in
            let key = try key(text, entry)
            guard known.insert(key).inserted else { throw entry.mistake("occurs twice") }
            return (key, entry)
        } ?? []
    }

    private static func uuid(_ text: String, _ entry: Entry) throws -> BluetoothUUID {
        guard let uuid = BluetoothUUID(text) else { throw entry.mistake("its key is not a UUID") }
        return uuid
    }

    /// Returns the readings in the value of a characteristic. Empty if there is no layout for it, and if the value does
    /// not have the layout.
    public func readings(in value: [UInt8], of characteristic: BluetoothUUID) -> [SensorReading] {
        values[characteristic]?.readings(in: value) ?? []
    }
}
