/// A list of formats of advertising data, to decode whatever an advertisement contains.
///
/// ```swift
/// let formats = AdvertisementFormats(RuuviTag.self, IBeacon.self, BTHome.self)
/// for try await event in central.discoveryEvents() {
///     guard case .updated(let found) = event else { continue }
///     switch formats.first(in: found.advertisement) {
///     case let tag as RuuviTag: print(tag.temperatureCelsius ?? .nan)
///     case let sensor as BTHome: print(sensor.objects ?? [])
///     case let other?: print(other)
///     case nil: break
///     }
/// }
/// ```
public struct AdvertisementFormats: Sendable {
    /// The formats, in the order in which they are tried.
    public var types: [any AdvertisementDecodable.Type]

    /// Creates a list.
    public init(_ types: any AdvertisementDecodable.Type...) { self.types = types }

    /// Creates a list of the formats of several lists, in their order. A type that occurs again is left out.
    public init(_ lists: [AdvertisementFormats]) {
        var known: Set<ObjectIdentifier> = []
        types = lists.flatMap(\.types).filter { known.insert(ObjectIdentifier($0)).inserted }
    }

    /// Returns the value of the first format that an advertisement has. Nil if it has none, or only invalid data.
    public func first(in advertisement: Advertisement) -> (any AdvertisementDecodable)? {
        for type in types { if let value = Self.value(of: type, in: advertisement) { return value } }
        return nil
    }

    /// Returns the values of all formats that an advertisement has, in the order of ``types``.
    public func all(in advertisement: Advertisement) -> [any AdvertisementDecodable] {
        types.compactMap { Self.value(of: $0, in: advertisement) }
    }

    /// Returns the errors of data that has a format, but is invalid.
    public func errors(in advertisement: Advertisement) -> [AdvertisementFormatError] {
        types.compactMap { type in
            do throws(AdvertisementFormatError) {
                _ = try type.decode(advertisement)
                return nil
            } catch { return error }
        }
    }

    private static func value(
        of type: any AdvertisementDecodable.Type, in advertisement: Advertisement
    ) -> (any AdvertisementDecodable)? {
        do throws(AdvertisementFormatError) { return try type.decode(advertisement) } catch { return nil }
    }
}
