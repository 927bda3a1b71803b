/// A list of formats of advertising data, to decode whatever an advertisement contains.
///
/// ```swift
/// let formats = AdvertisementFormats(RuuviTag.self, IBeacon.self, BTHome.self)
/// for try await event in central.discoveryEvents() {
///     guard case .updated(let found) = event, let known = formats.first(in: found.advertisement) else { continue }
///     switch known.value {
///     case let tag as RuuviTag: print(tag.temperatureCelsius ?? .nan)
///     case let sensor as BTHome: print(sensor.objects ?? [])
///     default: print(known.format.name, known.readings)
///     }
/// }
/// ```
public struct AdvertisementFormats: Sendable {
    /// The formats, in the order in which they are tried.
    public private(set) var formats: [AdvertisementFormat] = []
    private var known: Set<AdvertisementFormat.Description> = []

    /// Creates a list of the formats of types.
    public init(_ types: any AdvertisementDecodable.Type...) {
        for type in types { add(AdvertisementFormat(type)) }
    }

    /// Creates a list of the formats of several lists, in their order. A format that occurs again is left out.
    public init(_ lists: [AdvertisementFormats]) {
        for format in lists.flatMap(\.formats) { add(format) }
    }

    /// Creates a list of formats. A format that occurs again is left out.
    public init(_ formats: [AdvertisementFormat]) {
        for format in formats { add(format) }
    }

    /// Adds a format at the end. Does nothing if a format of that name and data is in the list.
    public mutating func add(_ format: AdvertisementFormat) {
        if known.insert(format.description).inserted { formats.append(format) }
    }

    /// Returns what an advertisement says in the first format that it has. Nil if it has none, or only invalid data.
    ///
    /// - Parameter sender: the peripheral that has sent it. Nil if it is not known.
    public func first(in advertisement: Advertisement, from sender: DeviceID? = nil) -> KnownAdvertisement? {
        for format in formats { if let value = Self.value(of: format, in: advertisement, sender) { return value } }
        return nil
    }

    /// Returns what an advertisement says in all formats that it has, in the order of ``formats``.
    ///
    /// - Parameter sender: the peripheral that has sent it. Nil if it is not known.
    public func all(in advertisement: Advertisement, from sender: DeviceID? = nil) -> [KnownAdvertisement] {
        formats.compactMap { Self.value(of: $0, in: advertisement, sender) }
    }

    /// Returns the errors of data that has a format, but is invalid.
    ///
    /// - Parameter sender: the peripheral that has sent it. Nil if it is not known.
    public func errors(in advertisement: Advertisement, from sender: DeviceID? = nil) -> [AdvertisementFormatError] {
        formats.compactMap { format in
            do throws(AdvertisementFormatError) {
                _ = try format.decode(advertisement, from: sender)
                return nil
            } catch { return error }
        }
    }

    private static func value(
        of format: AdvertisementFormat, in advertisement: Advertisement, _ sender: DeviceID?
    ) -> KnownAdvertisement? {
        do throws(AdvertisementFormatError) { return try format.decode(advertisement, from: sender) } catch {
            return nil
        }
    }
}
