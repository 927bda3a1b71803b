public import BLE

extension GlucoseMeasurementContext {
    /// The carbohydrates of a meal.
    public struct Carbohydrates: Hashable, Codable, Sendable {
        /// The meal.
        public var source: CarbohydrateSource
        /// The carbohydrates in kg, as sent.
        public var kilograms: MedFloat16

        /// Creates carbohydrates.
        public init(_ source: CarbohydrateSource, kilograms: MedFloat16) {
            self.source = source
            self.kilograms = kilograms
        }

        init(from reader: inout ValueReader) throws(BLEError) {
            source = try reader.raw()
            kilograms = try reader.medFloat16()
        }

        func encode(into writer: inout ValueWriter) {
            writer.raw(source)
            writer.raw(kilograms)
        }
    }

    /// The meal that carbohydrates belong to. Other numbers are reserved.
    public struct CarbohydrateSource: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Breakfast.
        public static let breakfast = CarbohydrateSource(rawValue: 1)
        /// Lunch.
        public static let lunch = CarbohydrateSource(rawValue: 2)
        /// Dinner.
        public static let dinner = CarbohydrateSource(rawValue: 3)
        /// A snack.
        public static let snack = CarbohydrateSource(rawValue: 4)
        /// A drink.
        public static let drink = CarbohydrateSource(rawValue: 5)
        /// Supper.
        public static let supper = CarbohydrateSource(rawValue: 6)
        /// Brunch.
        public static let brunch = CarbohydrateSource(rawValue: 7)
    }

    /// The relation of a measurement to a meal. Other numbers are reserved.
    public struct Meal: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Before a meal.
        public static let preprandial = Meal(rawValue: 1)
        /// After a meal.
        public static let postprandial = Meal(rawValue: 2)
        /// After fasting.
        public static let fasting = Meal(rawValue: 3)
        /// Casual, for example with snacks or drinks.
        public static let casual = Meal(rawValue: 4)
        /// Before going to bed.
        public static let bedtime = Meal(rawValue: 5)
    }

    /// The circumstances of a measurement.
    public struct Examination: Hashable, Codable, Sendable {
        /// The person or institution that performed the measurement.
        public var tester: Tester
        /// The health of the person.
        public var health: Health

        /// Creates circumstances.
        public init(tester: Tester = .notAvailable, health: Health = .notAvailable) {
            self.tester = tester
            self.health = health
        }

        init(from reader: inout ValueReader) throws(BLEError) {
            let both = try reader.uint8()
            tester = Tester(rawValue: both & 0x0F)
            health = Health(rawValue: both >> 4)
        }

        func encode(into writer: inout ValueWriter) throws(BLEError) {
            guard tester.rawValue < 16, health.rawValue < 16 else {
                throw BLEError(.invalidValue, "tester and health are not both in the range 0 to 15")
            }
            writer.uint8(tester.rawValue | health.rawValue << 4)
        }
    }

    /// The person or institution that performed a measurement. Other numbers are reserved.
    public struct Tester: RawRepresentable, Hashable, Codable, Sendable {
        /// The number. Only its lower four bits are sent.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The measured person.
        public static let oneself = Tester(rawValue: 1)
        /// A health care professional.
        public static let healthCareProfessional = Tester(rawValue: 2)
        /// A laboratory.
        public static let laboratory = Tester(rawValue: 3)
        /// Not available.
        public static let notAvailable = Tester(rawValue: 15)
    }

    /// The health of a person. Other numbers are reserved.
    public struct Health: RawRepresentable, Hashable, Codable, Sendable {
        /// The number. Only its lower four bits are sent.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Minor health issues.
        public static let minorIssues = Health(rawValue: 1)
        /// Major health issues.
        public static let majorIssues = Health(rawValue: 2)
        /// During menses.
        public static let duringMenses = Health(rawValue: 3)
        /// Under stress.
        public static let underStress = Health(rawValue: 4)
        /// No health issues.
        public static let noIssues = Health(rawValue: 5)
        /// Not available.
        public static let notAvailable = Health(rawValue: 15)
    }
}

extension GlucoseMeasurementContext.CarbohydrateSource: NamedConstants {
    static let names = consecutive(from: 1, "breakfast", "lunch", "dinner", "snack", "drink", "supper", "brunch")
}

extension GlucoseMeasurementContext.Meal: NamedConstants {
    static let names = consecutive(from: 1, "preprandial", "postprandial", "fasting", "casual", "bedtime")
}

extension GlucoseMeasurementContext.Tester: NamedConstants {
    static let names = consecutive(
        from: 1, "oneself", "healthCareProfessional", "laboratory", and: [15: "notAvailable"])
}

extension GlucoseMeasurementContext.Health: NamedConstants {
    static let names = consecutive(
        from: 1, "minorIssues", "majorIssues", "duringMenses", "underStress", "noIssues", and: [15: "notAvailable"])
}
