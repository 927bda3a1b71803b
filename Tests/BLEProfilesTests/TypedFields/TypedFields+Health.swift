import BLE
import BLEProfiles
import Foundation

extension TypedFields {
    static let health: [TypedFields] =
        bloodPressure + glucose + scales + pulseOximeter + [
            TypedFields(.dateTime).refusing(.noDate),
            TypedFields(.userIndex, ["User Index": user("")]),
            temperature(.temperatureMeasurement, "Temperature Measurement Value"),
            temperature(.intermediateTemperature, "Intermediate Temperature"),
            TypedFields(.temperatureType),
            TypedFields(
                .measurementInterval, ["Measurement Interval": TypedProperty("", ["No periodic measurement": "0"])]),
        ]

    private static func user(_ name: String) -> TypedProperty {
        TypedProperty(name, ["Unknown User": "255", "unknown user": "255"])
    }

    private static func temperature(
        _ characteristic: Characteristic<TemperatureMeasurement>, _ name: String
    ) -> TypedFields {
        TypedFields(
            characteristic,
            [
                "Flags[0]": .choice("unit", "celsius", "fahrenheit"), "\(name) (Celsius)": "temperature",
                "\(name) (Fahrenheit)": "temperature", "Time Stamp": "timeStamp", "Temperature Type": "type",
            ]
        ).refusing(.noDate)
    }

    private static let bloodPressure: [TypedFields] = {
        let unit = TypedProperty.choice("unit", "millimetersOfMercury", "kilopascals")
        let details: [String: TypedProperty] = [
            "Time Stamp": "timeStamp", "Pulse Rate": "pulseRateBeatsPerMinute", "User ID": user("user"),
            "Measurement Status": "status",
        ]
        let enhanced: [String: TypedProperty] = [
            "Flags[6]": .choice("details.epoch", "1900", "2000"), "Time Stamp": .none, "User Facing Time": .none,
            "Pulse Rate": "details.pulseRateBeatsPerMinute", "User ID": user("details.user"),
            "Measurement Status": "details.status",
        ]
        let cuff = "Intermediate Cuff Pressure Compound Value - "
        return [
            TypedFields(
                .bloodPressureMeasurement,
                details.merging(pressures("Blood Pressure Measurement Compound Value - ")) { $1 }
            ).refusing(.noDate),
            TypedFields(
                .intermediateCuffPressure,
                details.merging([
                    "Flags[0]": unit, "\(cuff)Current Cuff Pressure (mmHg)": "pressure",
                    "\(cuff)Current Cuff Pressure (kPa)": "pressure",
                    "\(cuff)Diastolic (unused)": .none, "\(cuff)Mean Arterial Pressure (unused)": .none,
                ]) { $1 }
            ).refusing(.noDate),
            TypedFields(.bloodPressureFeature),
            TypedFields(.enhancedBloodPressureMeasurement, enhanced.merging(pressures("")) { $1 })
                .deriving(enhancedTimes),
            TypedFields(
                .enhancedIntermediateCuffPressure,
                enhanced.merging(["Flags[0]": unit, "Intermediate Cuff Pressure Value": "pressure"]) { $1 }
            )
            .deriving(enhancedTimes),
        ]
    }()

    private static func pressures(_ prefix: String) -> [String: TypedProperty] {
        var result = ["Flags[0]": TypedProperty.choice("pressures.unit", "millimetersOfMercury", "kilopascals")]
        let names = ["Systolic": "systolic", "Diastolic": "diastolic", "Mean Arterial Pressure": "meanArterial"]
        for (name, property) in names {
            result["\(prefix)\(name) (mmHg)"] = TypedProperty("pressures.\(property)")
            result["\(prefix)\(name) (kPa)"] = TypedProperty("pressures.\(property)")
        }
        return result
    }

    /// Seconds since the beginning of 1900 or 2000.
    private static func enhancedTimes(_ fields: Fields) -> [String: ReadField.Content?] {
        let epoch = DateComponents(
            calendar: Calendar(identifier: .gregorian), timeZone: .gmt, year: bit(6, in: fields) ? 2000 : 1900,
            month: 1, day: 1)
        var result: [String: ReadField.Content?] = [:]
        for (name, property) in ["Time Stamp": "details.timeStamp", "User Facing Time": "details.userFacingTime"] {
            guard let seconds = number(name, in: fields), let start = epoch.date else { continue }
            let style = Date.ISO8601FormatStyle().year().month().day().dateSeparator(.dash).time(
                includingFractionalSeconds: false)
            result[property] = .text((start + seconds).formatted(style))
        }
        return result
    }

    private static let glucose: [TypedFields] = [
        TypedFields(
            .glucoseMeasurement,
            [
                "Flags[4]": "hasContext", "Sequence Number": "sequenceNumber", "Base Time": "baseTime",
                "Time Offset": "timeOffsetMinutes", "Glucose Concentration": .none, "Type": "sample.fluid",
                "Sample Location": "sample.location", "Sensor Status Annunciation": "status",
            ]
        )
        .deriving { fields in
            guard let concentration = fields["Glucose Concentration"] else { return [:] }
            // The format has milligrams per deciliter and millimoles per liter.
            let isMolar = bit(2, in: fields)
            let number = number("Glucose Concentration", in: fields).map { $0 / (isMolar ? 1e3 : 1e5) }
            return [
                "sample.concentration": number.map { .number($0) } ?? concentration,
                "sample.unit": .text(isMolar ? "molesPerLiter" : "kilogramsPerLiter"),
            ]
        }
        .refusing(.noDate),
        TypedFields(
            .glucoseMeasurementContext,
            [
                "Flags": .none, "Extended Flags": .none, "Sequence Number": "sequenceNumber",
                "Carbohydrate ID": "carbohydrates.source", "Carbohydrate": "carbohydrates.kilograms", "Meal": "meal",
                "Tester": "examination.tester", "Health": "examination.health",
                "Exercise Duration": "exercise.durationSeconds", "Exercise Intensity": "exercise.intensityPercent",
                "Medication ID": "medication.kind", "Medication": "medication.amount", "HbA1c": "hbA1cPercent",
            ]
        )
        .deriving { fields in
            fields["Medication"] == nil ? [:] : ["medication.unit": .text(bit(5, in: fields) ? "liters" : "kilograms")]
        },
        TypedFields(.glucoseFeature),
        TypedFields(
            .recordAccessControlPoint, ["Op Code": "opcode", "Operator": "operator", "Operand": "operand"]),
    ]

    private static let scales: [TypedFields] = [
        TypedFields(
            .weightMeasurement,
            [
                "Flags[0]": .choice("units", "metric", "imperial"),
                "Weight": TypedProperty("weight", ["327.675": nil, "655.35": nil]), "Time Stamp": "timeStamp",
                "User ID": user("user"), "BMI": "proportion.bodyMassIndex", "Height": "proportion.height",
            ]
        ).refusing(.noDate),
        TypedFields(.weightScaleFeature),
        TypedFields(
            .bodyCompositionMeasurement,
            [
                "Flags[0]": .choice("units", "metric", "imperial"), "Flags[12]": "isPart",
                "Body Fat Percentage": TypedProperty("bodyFatPercent", ["6553.5": nil]), "Time Stamp": "timeStamp",
                "User ID": user("user"), "Basal Metabolism": "basalMetabolismKilojoules",
                "Muscle Percentage": "musclePercent", "Muscle Mass": "muscleMass", "Fat Free Mass": "fatFreeMass",
                "Soft Lean Mass": "softLeanMass", "Body Water Mass": "bodyWaterMass", "Impedance": "impedanceOhms",
                "Weight": "weight", "Height": "height",
            ]
        ).refusing(.noDate),
        TypedFields(.bodyCompositionFeature),
    ]

    private static let pulseOximeter: [TypedFields] = {
        let details: [String: TypedProperty] = [
            "Measurement Status": "measurementStatus", "Device and Sensor Status": "deviceStatus",
            "Pulse Amplitude Index": "pulseAmplitudeIndexPercent",
        ]
        return [
            TypedFields(
                .plxSpotCheckMeasurement,
                details.merging([
                    "Flags[4]": .choice("isClockSet", "1", "0"), "SpO2": "value.percent",
                    "PR": "value.pulseRateBeatsPerMinute",
                    "Timestamp": "timeStamp",
                ]) { $1 }
            ).refusing(.noDate),
            TypedFields(
                .plxContinuousMeasurement,
                details.merging([
                    "Flags": .none, "SpO2 Normal": "normal.percent", "PR Normal": "normal.pulseRateBeatsPerMinute",
                    "SpO2 Fast": "fast.percent", "PR Fast": "fast.pulseRateBeatsPerMinute", "SpO2 Slow": "slow.percent",
                    "PR Slow": "slow.pulseRateBeatsPerMinute",
                ]) { $1 }),
            TypedFields(
                .plxFeatures,
                [
                    "Supported Features": "supported", "Measurement Status Support": "measurementStatus",
                    "Device and Sensor Status Support": "deviceStatus",
                ]),
        ]
    }()
}
